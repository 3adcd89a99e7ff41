package io.joinless.spark.exec

import io.joinless.spark.placement.Cells
import io.joinless.spark.plans.BlockSpec
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{
  Attribute,
  AttributeReference,
  AttributeSet,
  BoundReference,
  Expression,
  UnsafeProjection,
  UnsafeRow
}
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.joinless.LateEvents
import org.apache.spark.sql.types.{BinaryType, BooleanType, IntegerType, LongType}
import org.apache.spark.unsafe.Platform

/** Says for each row of a scan in which cells it is stored and for which roles: rows `(cell INT, roles BIGINT, row BINARY)`.
  *
  * With one role, every row of the child is a row of that relation and its bytes are the stored row. With several, the
  * child's last columns are one BOOLEAN per role, in order; the columns before them are the stored row. A row that no role
  * takes goes nowhere, nor does one that is too late for its scan's watermark ([[LateRows]]); a scan without roles (a
  * placeholder for a leaf merged into another) sends nothing. The same output row object is handed out every time, so the
  * parent must be an exchange (whose writers copy bytes at once, or copy the row where they would buffer it).
  *
  * Cost: one copy of the row's bytes per input row, two words per cell.
  */
final case class RolesAndCellsExec(
    spec: BlockSpec,
    roles: Seq[Int],
    child: SparkPlan,
    output: Seq[Attribute] = RolesAndCellsExec.newOutput,
    late: Option[LateEvents] = None
) extends UnaryExecNode {

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "rowsIn" -> SQLMetrics.createMetric(sparkContext, "rows read"),
    RolesAndCellsExec.RowsDropped -> SQLMetrics.createMetric(sparkContext, "late rows dropped"),
    "numOutputRows" -> SQLMetrics.createMetric(sparkContext, "rows sent to cells")
  )

  override def producedAttributes: AttributeSet = AttributeSet(output)

  override def outputPartitioning: Partitioning = UnknownPartitioning(child.outputPartitioning.numPartitions)

  override protected def stringArgs: Iterator[Any] =
    Iterator(roles.map(spec.relations(_).name).mkString("[", ", ", "]"), s"${spec.cells} cells")

  override protected def doExecute(): RDD[InternalRow] =
    if (roles.isEmpty) sparkContext.emptyRDD else sent

  private def sent: RDD[InternalRow] = {
    val (block, scanRoles) = (spec, roles.toArray)
    val width = spec.inputs(spec.relations(roles.head).input).columns.size
    val types = child.output.map(_.dataType)
    require(
      types.size == width + (if (scanRoles.length > 1) scanRoles.length else 0) &&
        types.drop(width).forall(_ == BooleanType),
      s"a scan of ${scanRoles.length} roles and $width stored columns has columns ${types.mkString(", ")}"
    )
    val stored = types.take(width).zipWithIndex.map { case (t, i) => BoundReference(i, t, nullable = true) }
    val (rowsIn, rowsOut) = (longMetric("rowsIn"), longMetric("numOutputRows"))
    val dropped = longMetric(RolesAndCellsExec.RowsDropped)
    val (scan, tooLate) = (child.output, lateRows)
    child.execute().mapPartitions { all =>
      val rows = tooLate.fold(all)(LateRows.without(all, _, scan, () => dropped += 1))
      val project = UnsafeProjection.create(stored)
      new RolesAndCells(block, scanRoles, rows, project, (in, out) => { rowsIn += in; rowsOut += out })
    }
  }

  private def lateRows: Option[Expression] = {
    val several = !conf.getConf(SQLConf.STATEFUL_OPERATOR_ALLOW_MULTIPLE)
    late.flatMap(events => LateRows.condition(child.output, events.watermarkMs, several))
  }

  override protected def withNewChildInternal(newChild: SparkPlan): RolesAndCellsExec = copy(child = newChild)
}

object RolesAndCellsExec {
  final val RowsDropped = "rowsDropped"

  def newOutput: Seq[Attribute] = Seq(
    AttributeReference("cell", IntegerType, nullable = false)(),
    AttributeReference("roles", LongType, nullable = false)(),
    AttributeReference("row", BinaryType, nullable = false)()
  )
}

/** The output row's layout: null word, cell, roles, offset and size of the stored row, stored row. */
object ExchangeRow {
  final val CellAt = 8
  final val RolesAt = 16
  final val SizeAt = 24
  final val RowAt = 32
}

final private class RolesAndCells(
    spec: BlockSpec,
    roles: Array[Int],
    input: Iterator[InternalRow],
    project: UnsafeProjection,
    report: (Long, Long) => Unit
) extends Iterator[InternalRow] {
  import ExchangeRow._

  private[this] val cells = new Cells(spec)
  private[this] val width = spec.inputs(spec.relations(roles(0)).input).columns.size
  private[this] var buffer = new Array[Byte](256)
  private[this] val out = new UnsafeRow(3)
  private[this] var next_ = 0
  private[this] var rowsIn = 0L
  private[this] var rowsOut = 0L
  private[this] var done = false

  override def hasNext: Boolean = {
    while (next_ >= cells.size) {
      if (!input.hasNext) {
        if (!done) { done = true; report(rowsIn, rowsOut) }
        return false
      }
      place(input.next())
    }
    true
  }

  override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException("no more rows")
    Platform.putLong(buffer, Platform.BYTE_ARRAY_OFFSET + CellAt, cells.cell(next_))
    Platform.putLong(buffer, Platform.BYTE_ARRAY_OFFSET + RolesAt, cells.roles(next_))
    next_ += 1
    rowsOut += 1
    out
  }

  private def place(row: InternalRow): Unit = {
    cells.clear()
    next_ = 0
    rowsIn += 1
    if (roles.length == 1) {
      val stored = row match {
        case u: UnsafeRow => u
        case other => project(other)
      }
      cells.add(roles(0), stored)
      if (cells.size > 0) copy(stored)
    } else {
      var stored: UnsafeRow = null
      var i = 0
      while (i < roles.length) {
        if (!row.isNullAt(width + i) && row.getBoolean(width + i)) {
          if (stored == null) stored = project(row)
          cells.add(roles(i), stored)
        }
        i += 1
      }
      if (cells.size > 0) copy(stored)
    }
  }

  private def copy(stored: UnsafeRow): Unit = {
    val bytes = stored.getSizeInBytes
    if (buffer.length < RowAt + bytes) buffer = new Array[Byte](math.max(2 * buffer.length, RowAt + bytes))
    Platform.copyMemory(
      stored.getBaseObject,
      stored.getBaseOffset,
      buffer,
      Platform.BYTE_ARRAY_OFFSET + RowAt,
      bytes
    )
    Platform.putLong(buffer, Platform.BYTE_ARRAY_OFFSET + SizeAt, (RowAt.toLong << 32) | bytes)
    out.pointTo(buffer, RowAt + bytes)
  }
}
