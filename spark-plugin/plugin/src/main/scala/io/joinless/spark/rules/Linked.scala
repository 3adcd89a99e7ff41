package io.joinless.spark.rules

/** Things held together by links, directly or by way of each other: the classes of the finest partition that tears no link. */
private[spark] object Linked {

  /** @param alone belongs to a class of its own where no link holds it
    * @param links each holds all of its members together
    */
  def apply[A](alone: Iterable[A], links: Iterable[Set[A]]): Seq[Set[A]] =
    links.filter(_.nonEmpty).foldLeft(alone.map(Set(_)).toSeq) { (classes, link) =>
      val (linked, others) = classes.partition(_.exists(link))
      (linked.flatten.toSet ++ link) +: others
    }
}
