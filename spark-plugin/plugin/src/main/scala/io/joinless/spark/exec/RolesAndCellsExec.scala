package io.joinless.spark.exec

import io.joinless.spark.exec.cells.{CellKinds, ExchangeRow}
import io.joinless.spark.exec.figures.OperatorMetrics
import io.joinless.spark.exec.operator.LateRows
import io.joinless.spark.placement.Cells
import io.joinless.spark.plans.failures.KeyErrors
import io.joinless.spark.plans.reasons.WindowTexts
import io.joinless.spark.spec.{BlockSpec, InputSpec, TimeSpec}
import org.apache.spark.TaskContext
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
import org.apache.spark.sql.catalyst.plans.logical.EventTimeWatermark
import org.apache.spark.sql.catalyst.plans.physical.{Partitioning, UnknownPartitioning}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.sql.joinless.Watermarks
import org.apache.spark.sql.types.{BinaryType, BooleanType, IntegerType, LongType}
import org.apache.spark.unsafe.Platform

/** Computes for each row of a scan in which cells it is stored and for which roles: rows `(cell
  * INT, roles BIGINT, row BINARY)`, and `weight BIGINT` if any input of the block is a changelog.
  *
  * The child's columns are the stored row, then, of a changelog, the weight of the change
  * (elsewhere it is 1), then, with several roles, one BOOLEAN per role, in order. With one role and
  * no weight the child's bytes are the stored row. Rows of changelogs are always projected: their
  * identity is their bytes, so equal rows must have equal bytes. A row of weight 0 or without a
  * role is sent nowhere. Nor is a row that is too late for its scan's watermark (`LateRows`);
  * changes of a changelog are never too late, since without its delete a row would stay. A scan
  * without roles (a placeholder for a leaf merged into another) sends nothing. The same output row
  * object is returned every time, so the parent must be an exchange (whose writers copy bytes at
  * once, or copy the row if they buffer it).
  *
  * Cost: one copy of the row's bytes per input row, two words per cell.
  */
final case class RolesAndCellsExec(
    spec: BlockSpec,
    roles: Seq[Int],
    child: SparkPlan,
    output: Seq[Attribute],
    watermarks: Option[Watermarks] = None
) extends UnaryExecNode with LateRows.Dropped {

  override lazy val metrics: Map[String, SQLMetric] = Map(
    "rowsIn" -> SQLMetrics.createMetric(sparkContext, "rows read"),
    OperatorMetrics.KeyErrors -> SQLMetrics.createMetric(sparkContext, "rows without a computable key"),
    LateRows.RowsDropped -> SQLMetrics.createMetric(sparkContext, "late rows dropped"),
    "numOutputRows" -> SQLMetrics.createMetric(sparkContext, "rows sent to cells")
  )

  override def producedAttributes: AttributeSet = AttributeSet(output)

  override def outputPartitioning: Partitioning = UnknownPartitioning(child.outputPartitioning.numPartitions)

  override protected def stringArgs: Iterator[Any] =
    Iterator(roles.map(spec.relations(_).name).mkString("[", ", ", "]"), s"${spec.cells} cells")

  override protected def doExecute(): RDD[InternalRow] =
    if (roles.isEmpty) sparkContext.emptyRDD else sent

  /** The exchange rows of a scan with roles, without late rows. Reports its metrics when a
    * partition is read to its end.
    */
  private def sent: RDD[InternalRow] = {
    val (block, scanRoles) = (spec, roles.toArray)
    val width = input.columns.size
    val types = child.output.map(_.dataType)
    val more =
      (if (input.retractable) Seq(LongType) else Nil) ++ (if (roles.size > 1) roles.map(_ => BooleanType) else Nil)
    require(
      types.drop(width) == more,
      s"a scan of ${scanRoles.length} roles and $width stored columns has columns ${types.mkString(", ")}"
    )
    val stored = types.take(width).zipWithIndex.map { case (t, i) => BoundReference(i, t, nullable = true) }
    val (rowsIn, rowsOut) = (longMetric("rowsIn"), longMetric("numOutputRows"))
    val dropped = longMetric(LateRows.RowsDropped)
    val keyErrors = longMetric(OperatorMetrics.KeyErrors)
    val (scan, tooLate) = (child.output, lateRows)
    child.execute().mapPartitions { all =>
      val rows = tooLate.fold(all)(LateRows.without(all, _, scan, () => dropped += 1))
      val project = UnsafeProjection.create(stored)
      new RolesAndCells(
        block,
        scanRoles,
        rows,
        project,
        (in, out) => { rowsIn += in; rowsOut += out; keyErrors += KeyErrors.take(TaskContext.get()) }
      )
    }
  }

  /** The input whose rows the scan has. */
  private def input: InputSpec = spec.inputs(spec.relations(roles.head).input)

  /** The columns whose times decide whether a row is late; empty if none can be. Where rows expire,
    * these are the columns by which they expire. Else they are the columns with a watermark, but
    * windows only if no other column has one. The scan must have a role.
    */
  private def times: Seq[Attribute] =
    if (!input.kind.expires) {
      val (windows, others) = child.output.partition(a => TimeSpec.isWindow(a.dataType))
      Seq(others, windows).map(_.filter(_.metadata.contains(EventTimeWatermark.delayKey))).find(_.nonEmpty).getOrElse(
        Nil
      )
    } else roles.flatMap(spec.relations(_).lifetime).flatMap(_.until).map(time => child.output(time.ordinal)).distinct

  override def lateBy: String = {
    val names = roles.map(spec.relations(_).name)
    times.flatMap(time => names.map(name => s"$name.${WindowTexts.short(time.name)}")).mkString(", ")
  }

  /** The condition by which a row is late; None if none can be. */
  private def lateRows: Option[Expression] =
    watermarks.filterNot(_ => input.kind.signed).flatMap(w => Watermarks.condition(times, w.lateMs))

  override protected def withNewChildInternal(newChild: SparkPlan): RolesAndCellsExec = copy(child = newChild)
}

object RolesAndCellsExec {

  /** The columns of exchange rows, with new ids. */
  def newOutput(spec: BlockSpec): Seq[Attribute] = {
    val weight =
      if (CellKinds.of(spec).isWeighted) Seq(AttributeReference("weight", LongType, nullable = false)()) else Nil
    Seq(
      AttributeReference("cell", IntegerType, nullable = false)(),
      AttributeReference("roles", LongType, nullable = false)(),
      AttributeReference("row", BinaryType, nullable = false)()
    ) ++ weight
  }
}

/** Rows of a scan in, a row of the exchange (`ExchangeRow`) for each of its cells out.
  *
  * @param roles the relations that read the scan
  * @param input the rows of the scan: stored columns, weight if of a changelog, a flag per role if
  *     several
  * @param project makes the stored row of a row's first columns
  * @param report gets the numbers of rows read and sent, once, after the last row
  */
final private[exec] class RolesAndCells(
    spec: BlockSpec,
    roles: Array[Int],
    input: Iterator[InternalRow],
    project: UnsafeProjection,
    report: (Long, Long) => Unit
) extends Iterator[InternalRow] {
  import ExchangeRow._

  private[this] val cells = new Cells(spec)
  private[this] val scanned = spec.inputs(spec.relations(roles(0)).input)
  private[this] val width = scanned.columns.size
  private[this] val changelog = scanned.retractable
  private[this] val firstRole = if (changelog) width + 1 else width
  private[this] val weighted = CellKinds.of(spec).isWeighted
  private[this] val rowAt = if (weighted) WeightAt + 8 else WeightAt
  private[this] var buffer = new Array[Byte](256)
  private[this] val out = new UnsafeRow(if (weighted) 4 else 3)
  private[this] var nextCell = 0
  private[this] var rowsIn = 0L
  private[this] var rowsOut = 0L
  private[this] var done = false

  /** Whether a row is left to send: reads rows of the scan until one has cells. Reports once after
    * the last one.
    */
  override def hasNext: Boolean = {
    while (nextCell >= cells.size) {
      if (!input.hasNext) {
        if (!done) { done = true; report(rowsIn, rowsOut) }
        return false
      }
      place(input.next())
    }
    true
  }

  /** The row for its next cell: only cell and roles are written again. */
  override def next(): InternalRow = {
    if (!hasNext) throw new NoSuchElementException("no more rows")
    Platform.putLong(buffer, Platform.BYTE_ARRAY_OFFSET + CellAt, cells.cell(nextCell))
    Platform.putLong(buffer, Platform.BYTE_ARRAY_OFFSET + RolesAt, cells.roles(nextCell))
    nextCell += 1
    rowsOut += 1
    out
  }

  /** Finds the roles and cells of a row, and copies the row, if there are any. With a single role
    * the scan has only rows of that role; with several, it has a column per role that says whether
    * the row has it. A change of weight 0 goes nowhere.
    */
  private def place(row: InternalRow): Unit = {
    cells.clear()
    nextCell = 0
    rowsIn += 1
    val weight = if (changelog) row.getLong(width) else 1L
    if (weight != 0L)
      if (roles.length == 1) {
        val stored = row match {
          case u: UnsafeRow if !changelog => u
          case other => project(other)
        }
        cells.add(roles(0), stored)
        if (cells.size > 0) copy(stored, weight)
      } else {
        var stored: UnsafeRow = null
        var i = 0
        while (i < roles.length) {
          if (!row.isNullAt(firstRole + i) && row.getBoolean(firstRole + i)) {
            if (stored == null) stored = project(row)
            cells.add(roles(i), stored)
          }
          i += 1
        }
        if (cells.size > 0) copy(stored, weight)
      }
  }

  /** Writes the stored row, and the weight, to the exchange row behind the place of cell and roles.
    */
  private def copy(stored: UnsafeRow, weight: Long): Unit = {
    val bytes = stored.getSizeInBytes
    if (buffer.length < rowAt + bytes) buffer = new Array[Byte](math.max(2 * buffer.length, rowAt + bytes))
    Platform.copyMemory(
      stored.getBaseObject,
      stored.getBaseOffset,
      buffer,
      Platform.BYTE_ARRAY_OFFSET.toLong + rowAt,
      bytes
    )
    Platform.putLong(buffer, Platform.BYTE_ARRAY_OFFSET + SizeAt, (rowAt.toLong << 32) | bytes)
    if (weighted) Platform.putLong(buffer, Platform.BYTE_ARRAY_OFFSET + WeightAt, weight)
    out.pointTo(buffer, rowAt + bytes)
  }
}
