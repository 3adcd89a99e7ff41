package io.joinless.spark.rules.blocks

/** Elements connected by links, directly or through each other: the classes of the finest partition
  * that splits no link.
  */
private[spark] object Linked {

  /** The classes of linked elements.
    *
    * @param alone each belongs to a class of its own where no link contains it
    * @param links each connects all of its members
    */
  def apply[A](alone: Iterable[A], links: Iterable[Set[A]]): Seq[Set[A]] =
    links.filter(_.nonEmpty).foldLeft(alone.map(Set(_)).toSeq) { (classes, link) =>
      val (linked, others) = classes.partition(_.exists(link))
      (linked.flatten.toSet ++ link) +: others
    }
}
