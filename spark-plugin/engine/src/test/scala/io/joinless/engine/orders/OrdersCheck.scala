package io.joinless.engine.orders

import scala.util.Random

/** A cost graph under random changes of its statistics, beside its definition: costs by recursion
  * over sets, without anything kept, and the cheapest of all orders, one by one.
  */
private[engine] object OrdersCheck {

  /** The first difference in a case of this seed; None if there is none. */
  def failure(seed: Long): Option[String] = {
    val random = new Random(seed)
    val attributes = draw(random)
    val (sums, bounds) = (random.nextBoolean(), random.nextInt(4) > 0)
    new OrdersCheck(attributes, sums, bounds, random).failure.orElse(ofAverages(random)).orElse(ofNoShare)
  }

  /** A set whose best step has the share 0 keeps its cost while what follows becomes a bound. If the
    * share increases then, the sets above must follow, too. Random changes rarely do this.
    */
  private def ofNoShare: Option[String] = {
    // 0 leads to 1 only, 1 to 2, and 2 to the others
    val graph = new CostGraph(Array(1L, 3L, 6L, 4L, 4L, 4L), sums = false)
    def share(to: Int, share: Double, bound: Int*): Unit =
      graph.setShare(graph.step(bound.map(1 << _).sum, to), share)
    for (r <- 0 until 6) graph.setLength(r, r, 1.0)
    for (r <- 0 until 2) graph.setLength(r, r + 1, 1.0)
    share(2, 0.0, 0, 1)
    share(4, 0.5, 0, 1, 2, 3)
    share(4, 0.7, 0, 1, 2)
    for (set <- graph.connectedSets) { val _ = graph.cost(set) }
    share(4, 0.8, 0, 1, 2, 3) // 1.8 from 0, 1, 2, 3 on, where 1.5 is the bound
    share(3, 0.5, 0, 1, 2) // 1.9 from 0, 1, 2 on, where 1.75 is the bound
    share(2, 1.0, 0, 1)
    Option.when(math.abs(graph.cost(1) - 3.9) > 1e-9)(s"the cost ${graph.cost(1)} is not 3.9")
  }

  /** Up to six relations that are connected, with up to three attributes each. */
  private def draw(random: Random): Array[Long] = {
    val drawn = Iterator.continually {
      val attributes = 2 + random.nextInt(4)
      Array.fill(1 + random.nextInt(6))(Seq.fill(1 + random.nextInt(3))(1L << random.nextInt(attributes)).reduce(_ | _))
    }
    drawn.find(CostGraph.fits(_)).get
  }

  /** Averages beside the list of all that was observed. */
  private def ofAverages(random: Random): Option[String] = {
    val (weight, ratio, patience) = (0.04 + random.nextDouble() / 2, 1.2 + random.nextDouble(), random.nextInt(4))
    val averages = new Averages(2, weight, ratio, patience)
    var (seen, used, differences) = (Vector.empty[Double], 0.0, 0)
    Iterator.range(0, 200).map { i =>
      val value = if (random.nextInt(3) == 0) 0.0 else random.nextInt(if (i < 100) 4 else 40).toDouble
      val before = averages.inUse(1)
      val changes = averages.observe(1, value)
      seen :+= value
      val average = seen.tail.foldLeft(seen.head)((sum, v) => (1 - weight) * sum + weight * v)
      val (less, more) = (math.min(average, used), math.max(average, used))
      if (more - less > 0.4 && (less == 0.0 || more / less > ratio)) differences += 1
      if (seen.size == 1 || patience == 0 || differences == patience) { used = average; differences = 0 }
      val (got, kept) = (averages.inUse(1), averages.average(1))
      if (math.abs(kept - average) > 1e-6) Some(s"the average $kept of $seen is $average")
      else if (math.abs(got - used) > 1e-6) Some(s"$got is in use after $seen, not $used")
      else if (changes != (got != before) && seen.size > 1) Some(s"a change of $before to $got is reported: $changes")
      else if (averages.inUse(0) != 0.0) Some("another average has changed")
      else None
    }.collectFirst { case Some(what) => what }
  }
}

final private class OrdersCheck(attributes: Array[Long], sums: Boolean, bounds: Boolean, random: Random) {
  private val n = attributes.length
  private val graph = new CostGraph(attributes, sums, bounds)
  private val sets = (1 until 1 << n).filter(isConnected)
  private val lists = Array.ofDim[Double](n, n)
  private val shares = scala.collection.mutable.HashMap.empty[(Int, Int), Double].withDefaultValue(1.0)

  def failure: Option[String] =
    if (graph.connectedSets.sorted != sets) Some(s"the connected sets are not ${graph.connectedSets}")
    else Iterator.range(0, 60).map { _ => change(); difference }.collectFirst { case Some(what) => what }

  private def members(set: Int) = (0 until n).filter(r => (set >>> r & 1) != 0)
  private def isLinked(set: Int, r: Int) =
    (set >>> r & 1) == 0 && members(set).exists(u => (attributes(u) & attributes(r)) != 0L)

  private def isConnected(set: Int): Boolean = {
    val reached =
      Iterator.iterate(set & -set)(s => s | members(set).filter(isLinked(s, _)).map(1 << _).sum).drop(n).next()
    reached == set
  }

  private def change(): Unit = for (_ <- 0 to random.nextInt(4)) {
    if (random.nextBoolean()) {
      val (u, t) = (random.nextInt(n), random.nextInt(n))
      if (u == t || (attributes(u) & attributes(t)) != 0L) {
        lists(u)(t) = drawn(8.0)
        graph.setLength(u, t, lists(u)(t))
      }
    } else {
      val set = sets(random.nextInt(sets.size))
      val next = (0 until n).filter(isLinked(set, _))
      if (next.nonEmpty) {
        val t = next(random.nextInt(next.size))
        shares((set, t)) = drawn(1.0)
        graph.setShare(graph.step(set, t), shares((set, t)))
      }
    }
  }

  // mostly few different values, so that costs are often equal, or none is
  private val few = 2 + random.nextInt(5)
  private def drawn(most: Double): Double =
    if (random.nextInt(4) > 0) most * random.nextInt(few) / (few - 1) else most * random.nextDouble()

  private def costOf(set: Int, t: Int, rest: Double): Double = {
    val bound = members(set)
    val length =
      if ((attributes(t) & ~bound.map(attributes(_)).reduce(_ | _)) == 0L) lists(t)(t)
      else {
        val all = bound.filter(u => (attributes(u) & attributes(t)) != 0L).map(lists(_)(t))
        if (sums) all.sum else all.min
      }
    (1.0 + shares((set, t)) * rest) * length
  }

  /** The cost of a set and the first relation that follows at this cost, from nothing kept. */
  private def fromScratch: Map[Int, (Double, Int)] =
    sets.sortBy(-Integer.bitCount(_)).foldLeft(Map.empty[Int, (Double, Int)]) { (known, set) =>
      val steps = (0 until n).filter(isLinked(set, _)).map(t => (costOf(set, t, known(set | 1 << t)._1), t))
      known + (set -> steps.minOption.getOrElse((0.0, -1)))
    }

  /** The cost of each order that completes a set; 0 for all relations. */
  private def ofOrders(set: Int): Iterator[Double] =
    if (set == (1 << n) - 1) Iterator(0.0)
    else
      (0 until n).iterator.filter(isLinked(set, _)).flatMap(t => ofOrders(set | 1 << t).map(costOf(set, t, _)))

  private def difference: Option[String] = {
    val right = fromScratch
    def isNear(a: Double, b: Double) = math.abs(a - b) <= 1e-9 * (1.0 + math.abs(b))
    def wrongBound = sets.collectFirst {
      case set if graph.bound(set) > right(set)._1 * (1 + 1e-12) + 1e-12 =>
        s"the bound ${graph.bound(set)} of $set is above ${right(set)}"
      case set if graph.isExact(set) && !isNear(graph.bound(set), right(set)._1) =>
        s"${graph.bound(set)} is called the cost of $set, which is ${right(set)}"
      case set if !bounds && !graph.isExact(set) => s"the cost of $set is not known"
    }
    val some = if (random.nextInt(8) == 0) sets else random.shuffle(sets).take(random.nextInt(4))
    def wrongCost = some.collectFirst {
      case set if !isNear(graph.cost(set), right(set)._1) => s"the cost ${graph.cost(set)} of $set is ${right(set)}"
      case set if right(set)._2 >= 0 && graph.next(set) != right(set)._2 && !isTie(set, graph.next(set), right) =>
        s"${graph.next(set)} follows $set, not ${right(set)}"
      case set if n <= 5 && !isNear(graph.cost(set), ofOrders(set).min) =>
        s"the cheapest order of $set costs ${ofOrders(set).min}, not ${graph.cost(set)}"
      case set if right(set)._2 >= 0 && !isNear(chain(set), right(set)._1) =>
        s"the order from $set costs ${chain(set)}, not ${right(set)}"
    }
    wrongBound.orElse(wrongCost).orElse(wrongBound)
  }

  /** Steps of the same cost, but for the last bits of sums in another order. */
  private def isTie(set: Int, t: Int, right: Map[Int, (Double, Int)]): Boolean =
    math.abs(costOf(set, t, right(set | 1 << t)._1) - right(set)._1) < 1e-9

  /** The cost of the order that is read from a set on. */
  private def chain(set: Int): Double =
    if (set == (1 << n) - 1) 0.0
    else {
      val t = graph.next(set)
      costOf(set, t, chain(set | 1 << t))
    }
}
