package io.joinless.spark.source

/** Names of columns that are all different, as tables need them. */
private[source] object DistinctNames {

  /** The same names, with a number appended to a name that occurs before in any case. */
  def apply(names: IndexedSeq[String]): IndexedSeq[String] =
    names.foldLeft(IndexedSeq.empty[String]) { (taken, name) =>
      /** Whether no earlier column has this name. */
      def isFree(candidate: String) = !taken.exists(_.equalsIgnoreCase(candidate))
      taken :+ Iterator.single(name).concat(Iterator.from(2).map(n => s"${name}_$n")).filter(isFree).next()
    }
}
