package io.joinless.spark.explain

import scala.collection.immutable.BitSet

import io.joinless.engine.enumerate.Access
import io.joinless.spark.spec.{BlockSpec, ColumnRef, RowCodec}

/** What a look-up by values of some columns costs in the trees of a running query, and why: as
  * [[io.joinless.engine.enumerate.Lookup]] does it ([[Access]]).
  */
object AccessText {

  /** @param columns stored ones
    * @param isFiltered results are rejected by other conditions as well
    */
  def apply(spec: BlockSpec, columns: Seq[ColumnRef], isFiltered: Boolean): String = {
    val block = RowCodec.blockDef(spec)
    val fields = columns.map { c =>
      val column = spec.inputs(spec.relations(c.relation).input).columns(c.ordinal)
      c.relation -> RowCodec.keyField(c.ordinal, column.dataType)
    }
    val access = Access(block, fields.toIndexedSeq)
    def key(attributes: BitSet) = attributes.toSeq.map(spec.attributes(_).name).mkString("(", ", ", ")")
    val found = access.edges.map(_._2).distinct
    val how = access.exact match {
      case Some(_) => s"by the key ${key(access.bound)}, at the cost of the rows"
      case None if found.nonEmpty =>
        val one = if (found.size == 1) "the key" else "one of the keys"
        s"by $one ${found.map(key).mkString(", ")}, whose rows are compared with the other values"
      case None if spec.isBag => "by all rows of the result, since a join by intersection has no keys to begin at"
      case None =>
        val relations = access.relations.map(spec.relations(_).name)
        val scanned = if (relations.size == 1) relations.head else relations.mkString("the smallest of ", ", ", "")
        val keys = spec.tree.edges.map { case (parent, child) => parent.separator(child) }.filter(_.nonEmpty).distinct
        s"by a scan of $scanned, since no key of the join tree (${keys.map(key).mkString(", ")}) has only these columns"
    }
    val filtered = if (isFiltered) "; conditions reject some of the rows" else ""
    val cells = access.bound.foldLeft(spec.cells)((n, x) => n / spec.shares(x))
    s"$how$filtered; per value $cells of ${spec.cells} cells"
  }
}
