package io.joinless.engine.tuples

import org.scalatest.funsuite.AnyFunSuite
import scala.collection.mutable
import scala.util.Random

/** Arena, key index and lists against plain collections, at sizes where pages, chunks and slots are
  * reused.
  */
class StorageSpec extends AnyFunSuite {

  for (fixed <- Seq(1, 3, 40000, 0)) test(s"oracle_arena: rows stay what they are (fixed words: $fixed)") {
    val random = new Random(fixed.toLong)
    val arena = new TupleArena(fixed)
    val rows = mutable.LinkedHashMap.empty[Int, Array[Long]]
    val steps = if (fixed == 40000) 300 else 20000
    for (round <- 1 to 3) {
      for (_ <- 1 to steps) {
        if (rows.nonEmpty && random.nextInt(100) < 20 * round) {
          val id = rows.keysIterator.drop(random.nextInt(math.min(8, rows.size))).next()
          rows -= id
          arena.free(id)
        } else {
          val words =
            if (fixed > 0) fixed else if (random.nextInt(500) == 0) 33000 + random.nextInt(9) else random.nextInt(30)
          val row = Array.fill(words)(random.nextLong())
          val id = arena.append(row, 0, words)
          assert(!rows.contains(id))
          rows(id) = row
        }
      }
      for ((id, row) <- rows) {
        assert(arena.words(id) == row.length && arena.sameWords(id, row, 0, row.length))
        assert(!arena.sameWords(id, row.map(_ + 1) :+ 0L, 0, row.length + 1))
      }
      assert(arena.live == rows.size && rows.keys.forall(_ < arena.limit))
    }
    rows.keys.foreach(arena.free)
    assert(arena.live === 0)
    assert(arena.limit === 0)
  }

  test("arena: rows of varying length that are added and freed take no more room than they need") {
    val random = new Random(4)
    val arena = new TupleArena(0)
    val ids = mutable.Queue.empty[Int]
    var most = 0L
    for (i <- 1 to 300000) {
      ids.enqueue(arena.append(new Array[Long](1 + random.nextInt(20)), 0, 1))
      if (ids.size > 5000) arena.free(ids.dequeue())
      if (i == 20000) most = arena.bytes
    }
    assert(arena.bytes <= 2 * most)
  }

  for (fields <- Seq(1, 63, 64, 65, 128, 129); wide <- Seq(false, true))
    test(s"keys: each NULL of $fields null-safe attributes counts (variable: $wide)") {
      val nullWords = (fields + 63) / 64
      val arena = new TupleArena(0)
      def row(nulls: Set[Int]): Int = {
        val words = new Array[Long](nullWords + fields)
        nulls.foreach(f => words(f / 64) |= 1L << (f % 64))
        arena.append(words, 0, words.length)
      }
      val kinds = Array.tabulate(fields)(f => wide && f % 2 == 0)
      val nullSafe = Array.fill(fields)(true)
      val reader = new KeyReader(arena, fields, kinds.zipWithIndex.map { case (v, f) => KeyField(f, v) }, nullSafe)
      val index = new KeyIndex(new TupleArena(reader.keyWords), reader.keyWords, counted = true)
      val rows = Set.empty[Int] +: (0 until fields).map(Set(_))
      val ids = rows.map(nulls => reader.findOrAdd(index, row(nulls)))
      assert(ids.distinct.size == rows.size)
      rows.zip(ids).foreach { case (nulls, id) => assert(reader.find(index, row(nulls)) == id) }
    }

  test("keys of two words with one hash are two keys") {
    val pairs = for (a <- 1L to 500L; b <- 1L to 500L) yield (a, b)
    val alike = pairs.groupBy { case (a, b) => KeyIndex.hash(a, b) }.values.filter(_.size > 1).flatten.toIndexedSeq
    assert(alike.nonEmpty && alike.forall { case (a, b) => KeyIndex.hash(a, b) == KeyIndex.hash(Array(a, b), 0, 2) })
    val index = new KeyIndex(new TupleArena(2), 2, counted = false)
    val ids = alike.map { case (a, b) => index.findOrAdd(a, b) }
    assert(ids.distinct.size == alike.size)
    assert(alike.map { case (a, b) => index.findOrAdd(Array(a, b), 2) } == ids)
    // keys that differ in the second word only, and in the first one only
    assert(pairs.map { case (a, b) => index.findOrAdd(a, b) }.distinct.size == pairs.size)
  }

  for (words <- Seq(1, 2, 0); counted <- Seq(true, false))
    test(s"oracle_keys: one id per key (words: $words, counted: $counted)") {
      val random = new Random(words.toLong)
      val index = new KeyIndex(new TupleArena(words), words, counted)
      val ids = mutable.HashMap.empty[Seq[Long], Int]
      val references = mutable.HashMap.empty[Seq[Long], Int].withDefaultValue(0)
      // few high bits, many low bits, and the reverse
      def draw(): Long = if (random.nextBoolean()) random.nextInt(3000).toLong else random.nextInt(3000).toLong << 40
      def find(key: Seq[Long]) = if (words == 1) index.find(key.head) else index.find(key.toArray, key.size)
      for (_ <- 1 to 60000) {
        val key = Seq.fill(if (words == 0) random.nextInt(3) else words)(draw())
        assert(find(key) == ids.getOrElse(key, -1))
        if (random.nextInt(5) < 2) {
          val id =
            if (words == 1) index.findOrAdd(key.head)
            else if (words == 2 && random.nextBoolean()) index.findOrAdd(key.head, key.last)
            else index.findOrAdd(key.toArray, key.size)
          assert(ids.getOrElseUpdate(key, id) == id)
          index.retain(id)
          references(key) += 1
        } else if (ids.nonEmpty) {
          val old = ids.keysIterator.next()
          val last = index.release(ids(old))
          references(old) -= 1
          assert(last == (counted && references(old) == 0))
          if (last) ids -= old
        }
        assert(index.size == ids.size)
      }
      assert(ids.values.toSet.size === ids.size)
      for ((key, id) <- ids) assert(find(key) == id)
    }

  for (farthest <- Seq(10, 3000, 100000))
    test(s"oracle_pages: what was set is there, whatever grew since (up to $farthest)") {
      val random = new Random(farthest.toLong)
      val (ints, longs, bytes, words) = (new PagedInts, new PagedLongs, new PagedBytes, new PagedWords(3))
      val expected = mutable.HashMap.empty[Int, Int]
      for (step <- 1 to 20000) {
        // mostly near the present elements, sometimes far behind them
        val i = random.nextInt(if (random.nextInt(50) == 0) farthest else math.max(1, farthest * step / 20000))
        val value = random.nextInt(100)
        expected(i) = value
        ints(i) = value
        longs(i) = value.toLong << 32
        bytes(i) = value
        words.reserve(i)
        words.page(i)(words.at(i) + 2) = value.toLong
        val any = random.nextInt(2 * farthest)
        val right = expected.getOrElse(any, 0)
        assert(ints(any) == right && longs(any) == right.toLong << 32 && bytes(any) == right)
        assert(words.word(any, 2) == right && words.word(any, 1) == 0L)
      }
      for ((i, value) <- expected) assert(ints(i) == value && words.word(i, 2) == value)
      val room = math.max(2 * expected.keys.max, expected.keys.max + PagedInts.PageSize / 2 + 1)
      assert(ints.bytes <= 4L * room && words.bytes == 24 * bytes.bytes)
      ints.clear()
      assert(ints.bytes == 0 && ints(0) == 0)
    }

  private val Tuples = 24000 // lists of this length take several pages

  /** Lists of either implementation. */
  private trait Lists {
    def push(key: Int, tuple: Int): Unit
    def remove(key: Int, tuple: Int): Unit
    def count(key: Int): Int

    /** The tuples of a key, found by each access method. */
    def found(key: Int): IndexedSeq[Int]
  }

  private def plain(removable: Boolean): Lists = new Lists {
    private val lists = new IntLists(removable)
    def push(key: Int, tuple: Int): Unit = lists.push(key, tuple)
    def remove(key: Int, tuple: Int): Unit = lists.remove(key, tuple)
    def count(key: Int): Int = lists.count(key)
    def found(key: Int): IndexedSeq[Int] = {
      val found = Iterator.iterate(lists.first(key))(lists.next).takeWhile(_ != 0).map(lists.tuple).toIndexedSeq
      assert(lists.isEmpty(key) == found.isEmpty)
      found
    }
  }

  /** @param fields number of row words inlined with a tuple */
  private def records(removable: Boolean, withKeys: Boolean, fields: Int): Lists = new Lists {
    private val keys = new NotedKeys
    if (withKeys) (0 until Tuples).foreach(t => keys.note(t, 7 * t + 1))
    private val arena = new TupleArena(4)
    for (t <- 0 until Tuples) arena.append(Array(0L, t.toLong, -t.toLong, t * 1000003L), 0, 4)
    private val words = if (fields == 0) null else new InlinedWords(arena, 3, Array(2, 0, 1).take(fields))
    private val lists = new RecordLists(removable, if (withKeys) keys else null, words)
    def push(key: Int, tuple: Int): Unit = lists.push(key, tuple)
    def remove(key: Int, tuple: Int): Unit = lists.remove(key, tuple)
    def count(key: Int): Int = lists.count(key)
    def found(key: Int): IndexedSeq[Int] = {
      val slots = (lists.count(key) - 1 to 0 by -1).scanLeft(lists.first(key))(lists.next)
      assert(slots.last == 0)
      val found = slots.init.map(lists.tuple)
      assert(lists.isEmpty(key) == found.isEmpty && byRuns(key) == found && lists.areInlinedRight(key))
      found
    }

    private def byRuns(key: Int): IndexedSeq[Int] = {
      val found = IndexedSeq.newBuilder[Int]
      var (slot, left) = (lists.first(key), lists.count(key))
      while (left > 0) {
        val size = lists.inLastRun(left)
        for (i <- 0 until size) {
          val record = lists.page(slot)(lists.at(slot) - i * lists.width)
          if (withKeys) assert(RecordLists.inlinedKey(record) == keys(RecordLists.tuple(record)))
          found += RecordLists.tuple(record)
        }
        left -= size
        if (left > 0) slot = lists.below(lists.page(slot), lists.at(slot) - (size - 1) * lists.width)
      }
      found.result()
    }
  }

  private val kinds: Seq[(String, Boolean => Lists)] = Seq(
    "plain" -> plain,
    "with nothing inlined" -> (records(_, withKeys = false, 0)),
    "with a key inlined" -> (records(_, withKeys = true, 0)),
    "with a word inlined" -> (records(_, withKeys = false, 1)),
    "with a key and three words inlined" -> (records(_, withKeys = true, 3))
  )

  for (removable <- Seq(true, false); (kind, create) <- kinds)
    test(s"oracle_lists: tuples of each key, no holes ($kind, removable: $removable)") {
      val random = new Random(9)
      val lists = create(removable)
      val expected = IndexedSeq.fill(6)(mutable.LinkedHashSet.empty[Int])
      val keyOf = mutable.HashMap.empty[Int, Int]
      for (round <- 1 to 4; shrink = round % 2 == 0; step <- 1 to Tuples) {
        val tuple = random.nextInt(Tuples)
        if (keyOf.contains(tuple)) {
          if (removable && (shrink || random.nextInt(4) == 0)) {
            val key = keyOf.remove(tuple).get
            expected(key) -= tuple
            lists.remove(key, tuple)
          }
        } else if (!shrink || random.nextInt(4) == 0) {
          // one hub, some small keys
          val key = if (random.nextInt(3) > 0) 0 else 1 + random.nextInt(5)
          keyOf(tuple) = key
          expected(key) += tuple
          lists.push(key, tuple)
        }
        if (step % 500 == 0) for (key <- expected.indices) {
          val found = lists.found(key)
          assert(found.size == lists.count(key) && found.toSet == expected(key))
        }
      }
    }

  test("words inlined with rows say whether one of them is NULL") {
    val arena = new TupleArena(4)
    for (nulls <- Seq(0L, 2L, 1L)) arena.append(Array(nulls, 5, 6, 7), 0, 4)
    val words = new InlinedWords(arena, 3, Array(2, 0))
    val copied = new Array[Long](2)
    for ((row, anyNull) <- Seq(0 -> false, 1 -> false, 2 -> true, 0 -> true)) {
      words.copy(row, copied, 0)
      assert(copied.toSeq == Seq(7L, 5L) && words.anyNull == anyNull)
    }
  }

  test("lists: what is removed is used again") {
    val lists = new IntLists(removable = true)
    val records = new RecordLists(removable = true)
    def cycle(): Long = {
      for (t <- 0 until 40000) { lists.push(t % 7, t); records.push(t % 7, t) }
      for (t <- 0 until 40000) { lists.remove(t % 7, t); records.remove(t % 7, t) }
      lists.bytes + records.bytes
    }
    val once = cycle()
    for (_ <- 1 to 20) assert(cycle() === once)
  }
}
