package io.joinless.spark.exec.rows

import scala.util.control.NonFatal

import io.joinless.engine.enumerate.Residual
import io.joinless.engine.tuples.TupleArena
import io.joinless.spark.plans.failures.CanThrow
import io.joinless.spark.spec.{BlockSpec, ResidualSpec}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{BasePredicate, Expression, Predicate, UnsafeRow}
import org.apache.spark.sql.catalyst.util.{ArrayData, MapData}
import org.apache.spark.sql.joinless.BorrowedRow
import org.apache.spark.sql.types.{DataType, Decimal}
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.{CalendarInterval, UTF8String, VariantVal}

/** Conditions over several relations, compiled by Spark and evaluated in place on rows of the
  * arenas.
  *
  * A residual's expression reads `BoundReference(i)`; column i is a column of the row now bound to
  * some relation. A condition that is NULL rejects, as everywhere in SQL.
  *
  * A condition that can fail is evaluated last, on rows of all relations: Spark, too, evaluates it
  * on all of those. It is ''tried'' before, as soon as its own relations are bound. Rows that it
  * rejects there need no further rows. If it fails there, it has rejected nothing yet.
  */
object ResidualPredicates {

  /** The residual conditions of a block, as the enumeration evaluates them. A condition that can
    * fail gives two: one that is tried, and one that is evaluated last.
    *
    * @param expressions over `spec.residuals(j).columns`, by position
    * @param arena of each relation's rows
    */
  def compile(spec: BlockSpec, expressions: Seq[Expression], arena: Int => TupleArena): IndexedSeq[Residual] = {
    require(expressions.size == spec.residuals.size, "one expression per residual")
    spec.residuals.zip(expressions).flatMap { case (residual, expression) =>
      val predicate = Predicate.create(expression)
      predicate.initialize(0)
      val row = new BoundRow(spec, residual, arena)
      val all = spec.relations.indices
      if (!CanThrow(expression)) Seq(new Compiled(predicate, row, row.relations))
      else
        Option.when(row.relations.size < all.size)(new Tried(new Compiled(predicate, row, row.relations))) ++:
          Seq(new Compiled(predicate, row, all))
    }
  }

  final private class Compiled(predicate: BasePredicate, row: BoundRow, override val relations: IndexedSeq[Int])
      extends Residual {
    override def accept(rows: Array[Int]): Boolean = {
      row.bind(rows)
      predicate.eval(row)
    }
  }

  /** Accepts if the condition fails. */
  final private class Tried(condition: Residual) extends Residual {
    override def relations: IndexedSeq[Int] = condition.relations
    override def accept(rows: Array[Int]): Boolean =
      try condition.accept(rows)
      catch { case NonFatal(_) => true }
  }

  /** The residual's columns as one row; each column is read from the row of its relation, in place.
    */
  final private class BoundRow(spec: BlockSpec, residual: ResidualSpec, arena: Int => TupleArena)
      extends BorrowedRow {
    val relations: IndexedSeq[Int] = residual.columns.map(_.relation).distinct.sorted
    private[this] val ids = relations.toArray
    private[this] val arenas = relations.map(arena).toArray
    private[this] val views =
      relations.map(r => new UnsafeRow(spec.inputs(spec.relations(r).input).columns.size)).toArray
    private[this] val view = residual.columns.map(c => views(relations.indexOf(c.relation))).toArray
    private[this] val at = residual.columns.map(_.ordinal).toArray

    /** Points to the rows of a combination, given by their ids per relation; those of relations
      * that the condition does not read are ignored.
      */
    def bind(rows: Array[Int]): Unit = {
      var i = 0
      while (i < ids.length) {
        val row = rows(ids(i))
        val a = arenas(i)
        views(i).pointTo(a.page(row), Platform.LONG_ARRAY_OFFSET + 8L * a.start(row), 8 * a.words(row))
        i += 1
      }
    }

    override protected def row(i: Int): UnsafeRow = view(i)
    override protected def ordinal(i: Int): Int = at(i)
    override def numFields: Int = at.length
    override def isNullAt(i: Int): Boolean = view(i).isNullAt(at(i))
    override def getBoolean(i: Int): Boolean = view(i).getBoolean(at(i))
    override def getByte(i: Int): Byte = view(i).getByte(at(i))
    override def getShort(i: Int): Short = view(i).getShort(at(i))
    override def getInt(i: Int): Int = view(i).getInt(at(i))
    override def getLong(i: Int): Long = view(i).getLong(at(i))
    override def getFloat(i: Int): Float = view(i).getFloat(at(i))
    override def getDouble(i: Int): Double = view(i).getDouble(at(i))
    override def getDecimal(i: Int, precision: Int, scale: Int): Decimal = view(i).getDecimal(at(i), precision, scale)
    override def getUTF8String(i: Int): UTF8String = view(i).getUTF8String(at(i))
    override def getBinary(i: Int): Array[Byte] = view(i).getBinary(at(i))
    override def getInterval(i: Int): CalendarInterval = view(i).getInterval(at(i))
    override def getVariant(i: Int): VariantVal = view(i).getVariant(at(i))
    override def getStruct(i: Int, fields: Int): InternalRow = view(i).getStruct(at(i), fields)
    override def getArray(i: Int): ArrayData = view(i).getArray(at(i))
    override def getMap(i: Int): MapData = view(i).getMap(at(i))
    override def get(i: Int, dataType: DataType): AnyRef = view(i).get(at(i), dataType)
    override def setNullAt(i: Int): Unit = throw new UnsupportedOperationException("a bound row is only read")
    override def update(i: Int, value: Any): Unit = throw new UnsupportedOperationException("a bound row is only read")
    override def copy(): InternalRow = throw new UnsupportedOperationException("a bound row is only read")
  }
}
