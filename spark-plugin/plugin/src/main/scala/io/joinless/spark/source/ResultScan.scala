package io.joinless.spark.source

import io.joinless.spark.conf.JoinlessConf
import io.joinless.spark.errors.JoinlessErrors
import io.joinless.spark.explain.AccessText
import io.joinless.spark.spec.{ColumnRef, ResultSpec}
import org.apache.spark.SparkException
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions.{BoundReference, Expression}
import org.apache.spark.sql.connector.read.{Batch, InputPartition, PartitionReaderFactory, Scan}
import org.apache.spark.sql.joinless.RunningStores
import org.apache.spark.sql.types.{DoubleType, LongType, StructField, StructType}

/** A scan of a complete result: all of it, its length, a page or a sample ([[Reading]]).
  *
  * Usually a Spark partition reads a cell. A page at the start of the result is read by one
  * partition, which loads a cell only if those before it have too few rows. For other pages the
  * numbers of rows per cell are computed first, by a small Spark job; then only cells with rows of
  * the page are loaded. If combinations are rejected, numbers are not known, and one partition
  * walks to the page.
  *
  * @param taken conditions on the rows of single relations
  */
final case class ResultScan(
    result: CompleteResult,
    columns: Seq[Int],
    taken: Seq[RelationFilter],
    reading: Reading = Reading.Whole
) extends Scan with Batch {
  import Reading._
  import result.{names, snapshot, spec, values}

  override def readSchema(): StructType = reading match {
    case Numbers(count) =>
      StructType((0 until count).map(i => StructField(s"count_$i", LongType, nullable = false)))
    case _: Drawn => StructType(rowFields :+ StructField(ResultScan.Key, DoubleType, nullable = false))
    case _ => StructType(rowFields)
  }

  private def rowFields: Seq[StructField] =
    columns.map(c => StructField(names(c), values(c).dataType, nullable = true))

  override def description(): String = {
    val conditions = taken.map(f => s"${spec.relations(f.relation).name}: ${f.sql}")
    s"joinless $readingText of ${spec.relations.map(_.name).mkString(", ")} as of batch ${snapshot.batch}, " +
      s"${spec.cells} cells, columns: ${columns.map(names).mkString("[", ", ", "]")}, " +
      s"checked on rows of one relation: ${conditions.mkString("[", ", ", "]")}, " +
      s"${lookUpText}checkpoint: ${snapshot.checkpoint}"
  }

  /** What a look-up costs while the query runs. */
  private def lookUpText: String = taken.flatMap(EqualValues.of(_)) match {
    case Seq() => ""
    case equal =>
      val isFiltered = result.rejects || equal.size < taken.size
      val text = AccessText(spec, equal.map(e => ColumnRef(e.relation, e.field.ordinal)), isFiltered)
      s"looked up while the query runs: $text, "
  }

  private def readingText: String = reading match {
    case Whole => "full enumeration"
    case _: Numbers => "count"
    case Page(from, until) => s"rows from $from to ${until.fold("the end")(_.toString)}"
    case Thinned(fraction, replacement, seed) =>
      s"sample with the fraction $fraction${ResultScan.text(replacement)}, seed $seed,"
    case Drawn(size, replacement, seed) => s"sample of $size rows${ResultScan.text(replacement)}, seed $seed,"
  }

  override def toBatch: Batch = this

  /** Partitions may need a job; a plan that is only shown makes none. */
  override def columnarSupportMode(): Scan.ColumnarSupportMode = Scan.ColumnarSupportMode.UNSUPPORTED

  override def planInputPartitions(): Array[InputPartition] = reading match {
    case Page(from, until) => pages(from, until).toArray
    case Whole if !isLookup => Array.tabulate(spec.cells)(CellPartition(_))
    case _ => asked.map(cell => CellPartition(cell, executors(cell))).toArray
  }

  /** The partitions of a page. */
  private def pages(from: BigInt, until: Option[BigInt]): Seq[InputPartition] = {
    val size = until.map(end => (end - from).max(0))
    if (size.contains(BigInt(0))) Nil
    else if (result.rejects || (from == 0 && size.exists(_ <= ResultScan.FewRows)))
      Seq(PagePartition(asked, from, size, executors(asked.head)))
    else {
      val ends = rowsOfCells.scanLeft(BigInt(0))(_ + _)
      for {
        cell <- 0 until spec.cells
        first = from.max(ends(cell))
        end = until.fold(ends(cell + 1))(_.min(ends(cell + 1)))
        if first < end
      } yield PagePartition(Seq(cell), first - ends(cell), Some(end - first), executors(cell))
    }
  }

  /** How many rows there are, exactly; None if that needs a walk. */
  private[source] def number: Option[BigInt] = reading match {
    case _ if result.rejects => None
    case Whole => Some(rowsOfCells.sum)
    case Page(from, until) =>
      val all = rowsOfCells.sum
      Some((until.fold(all)(_.min(all)) - from).max(0))
    case _ => None
  }

  /** By cell, how many rows it has. */
  private def rowsOfCells: IndexedSeq[BigInt] = result.numbers(taken) {
    val readers = copy(reading = Numbers(1)).readers
    val context = SparkSession.active.sparkContext
    val cells = context.makeRDD(asked.map(cell => cell -> executors(cell)))
    try {
      val rows = asked.zip(cells.map(readers.number).collect()).toMap
      IndexedSeq.tabulate(spec.cells)(rows.getOrElse(_, BigInt(0)))
    } catch { case e: SparkException => throw JoinlessErrors.ofTask(e).getOrElse(e) }
  }

  /** The executors that may hold the tree of a cell, if a query runs. */
  private def executors(cell: Int): Seq[String] =
    running.flatMap(RunningStores.executor(SparkSession.active, snapshot.stores.cells, cell, _)).toSeq

  /** The run of the query that has the checkpoint in use, if this application runs it. Its trees can
    * be read where they hold every row, also by values.
    */
  private def running: Option[java.util.UUID] =
    if ((taken.isEmpty || isLookup) && spec.shape.reduction.isEmpty) RunningStores.run(snapshot.stores.checkpoint)
    else None

  /** Rows are looked up by values of stored columns. */
  private lazy val isLookup: Boolean = taken.exists(EqualValues.of(_).isDefined)

  /** The cells that can have rows; never none, so that a count has a row. */
  private lazy val asked: Seq[Int] = if (isLookup) EqualValues.cells(spec, taken) match {
    case Seq() => Seq(0)
    case cells => cells
  }
  else 0 until spec.cells

  override def createReaderFactory(): PartitionReaderFactory = readers

  /** Results are enumerated with the columns of relations that the requested columns or filters
    * read, and these are computed over them by position.
    */
  private def readers: ResultReaderFactory = {
    val wanted = columns.map(values)
    val needed = (wanted ++ result.filters).flatMap(_.collect { case BoundReference(i, _, _) => i }).distinct.sorted
    def rebound(e: Expression) = e.transform { case BoundReference(i, dataType, _) =>
      BoundReference(needed.indexOf(i), dataType, nullable = true)
    }
    val found = running
    val cells = ResultCells(
      spec.shaped(_.copy(output = needed.map(spec.output).toIndexedSeq).having(ResultSpec, None)),
      result.residuals,
      wanted.map(rebound),
      result.filters.map(rebound),
      taken,
      snapshot.stores,
      found.filter(_ => taken.isEmpty),
      found.filter(_ => isLookup),
      JoinlessConf.active.cacheMaxBytes
    )
    ResultReaderFactory(cells, reading)
  }
}

private object ResultScan {

  /** The column of keys. */
  final val Key = "_joinless_key"

  /** A page of so many rows at the start of the result is read by one task. */
  final val FewRows = 1 << 20

  private def text(replacement: Boolean): String = if (replacement) " with replacement" else ""
}
