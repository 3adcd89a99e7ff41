package io.joinless.spark.rules

import scala.collection.immutable.ArraySeq

import io.joinless.spark.plans.nodes.JoinFreeJoin
import io.joinless.spark.spec.{BlockShape, ColumnRef, KeySpec, ReducedBlock}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  BoundReference,
  GenericInternalRow,
  Predicate,
  UnsafeProjection,
  UnsafeRow
}
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan}
import org.apache.spark.sql.classic
import org.apache.spark.sql.execution.QueryExecution
import org.apache.spark.sql.joinless.KeyBytes
import org.apache.spark.sql.types.{DataType, Decimal}
import org.apache.spark.unsafe.Platform

/** The result of a join block over the current rows of its scans, straight from the contract of
  * [[JoinFreeJoin]]: stored rows are bytes, keys are equal if their bytes are, a NULL joins only if
  * the attribute is null-safe.
  */
object Meaning {

  def of(join: JoinFreeJoin, session: classic.SparkSession): LocalRelation = {
    val spec = join.shape
    val rows = scanned(join, session)
    val bound = spec.relations.indices.foldLeft(Seq(Vector.empty[UnsafeRow])) { (partial, relation) =>
      val known = spec.relations(relation).keys.filter(k => owner(spec, k.attribute) < relation)
      val candidates = rows(relation).groupBy(row => known.map(key(spec, relation, _, row)))
      for {
        before <- partial
        wanted = known.map { k =>
          val first = owner(spec, k.attribute)
          key(spec, first, spec.relations(first).keys.find(_.attribute == k.attribute).get, before(first))
        }
        row <- candidates.getOrElse(wanted, Nil)
      } yield before :+ row
    }
    def value(result: Vector[UnsafeRow])(column: ColumnRef): Any =
      result(column.relation).copy().get(column.ordinal, typeOf(spec, column))
    val residuals = join.residuals.zip(spec.residuals).map { case (e, r) => Predicate.create(e) -> r.columns }
    val accepted = bound.filter { result =>
      residuals.forall { case (p, columns) => p.eval(new GenericInternalRow(columns.map(value(result)).toArray)) }
    }
    LocalRelation(
      join.output,
      accepted.map(r => new GenericInternalRow((spec.output.map(value(r)) ++ counted(spec, value(r))).toArray[Any]))
    )
  }

  /** The contribution of one result to sums, and to the number of results, if results are counted.
    */
  private def counted(spec: BlockShape, value: ColumnRef => Any): Seq[Any] = spec.reduction.toSeq.flatMap { reduction =>
    require(!reduction.once && reduction.failures.isEmpty, "every result counts, and none fails")
    val sums = reduction.sums.zip(ReducedBlock(spec, reduction).sumWords).flatMap { case (sum, words) =>
      val factors = sum.factors.map(value)
      val isThere = !factors.contains(null)
      val product = if (isThere) factors.map(number).product else BigInt(0)
      (if (isThere) 1L else 0L) +: Seq.tabulate(words)(i => (product >> 64 * i).toLong)
    }
    sums :+ 1L
  }

  private def number(factor: Any): BigInt = factor match {
    case true => 1
    case d: Decimal => d.toJavaBigDecimal.unscaledValue
    case n: Number => n.longValue
    case other => throw new IllegalArgumentException(s"$other is no factor")
  }

  /** The stored rows of each relation that can join. */
  private def scanned(join: JoinFreeJoin, session: classic.SparkSession): IndexedSeq[Seq[UnsafeRow]] = {
    val spec = join.shape
    val rows = for {
      (scan, roles) <- join.scans.zip(join.rolesOfScan)
      row <- if (roles.isEmpty) Nil else collect(scan, session)
      (relation, i) <- roles.zipWithIndex
      input = spec.inputs(spec.relations(relation).input)
      columns = input.columns
      if roles.size == 1 || row.getBoolean(columns.size + (if (input.retractable) 1 else 0) + i)
    } yield {
      val types = scan.output.take(columns.size).map(_.dataType)
      require(types.map(KeyBytes.storedType) == columns.map(_.dataType), s"$types are not $columns")
      relation -> stored(row, types)
    }
    spec.relations.indices.map { relation =>
      val strict = spec.relations(relation).keys.filterNot(k => spec.attributes(k.attribute).nullSafe)
      rows.collect { case (`relation`, row) if !strict.exists(k => row.isNullAt(k.ordinal)) => row }
    }
  }

  private def stored(row: InternalRow, types: Seq[DataType]): UnsafeRow = {
    val columns = types.zipWithIndex.map { case (t, i) => BoundReference(i, t, nullable = true) }
    UnsafeProjection.create(columns)(row).copy()
  }

  private def collect(plan: LogicalPlan, session: classic.SparkSession): Seq[InternalRow] =
    new QueryExecution(session, plan).toRdd.map(_.copy()).collect().toSeq

  private def owner(spec: BlockShape, attribute: Int): Int =
    spec.relations.indexWhere(_.keys.exists(_.attribute == attribute))

  private def typeOf(spec: BlockShape, column: ColumnRef) =
    spec.inputs(spec.relations(column.relation).input).columns(column.ordinal).dataType

  /** The bytes of a key as the engine sees them: the word of the field, or the data that the word
    * points to.
    */
  private def key(spec: BlockShape, relation: Int, k: KeySpec, row: UnsafeRow): Option[Seq[Byte]] =
    Option.when(!row.isNullAt(k.ordinal)) {
      val bits = row.getLong(k.ordinal)
      ArraySeq.unsafeWrapArray {
        if (UnsafeRow.isFixedLength(typeOf(spec, ColumnRef(relation, k.ordinal)))) word(bits) else pointed(row, bits)
      }
    }

  private def word(bits: Long): Array[Byte] = java.nio.ByteBuffer.allocate(8).putLong(bits).array()

  private def pointed(row: UnsafeRow, word: Long): Array[Byte] = {
    val bytes = new Array[Byte](word.toInt)
    Platform.copyMemory(
      row.getBaseObject,
      row.getBaseOffset + (word >>> 32),
      bytes,
      Platform.BYTE_ARRAY_OFFSET,
      bytes.length
    )
    bytes
  }
}
