package io.joinless.spark.exec

import io.joinless.spark.errors.KafkaErrors
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Ascending, Attribute, SortOrder, UnsafeProjection}
import org.apache.spark.sql.catalyst.plans.physical.{ClusteredDistribution, Distribution, Partitioning}
import org.apache.spark.sql.execution.metric.{SQLMetric, SQLMetrics}
import org.apache.spark.sql.execution.{SparkPlan, UnaryExecNode}
import org.apache.spark.unsafe.types.UTF8String

/** One record for each key of a batch, from its changes: key, value and weight in, key and value
  * out. The value is that of the inserted row, or NULL if there is none. Keys are brought together
  * by one exchange and one sort, both of Spark; nothing is kept between batches.
  *
  * The changes are net, and a key has at most one row in the result before and in the result after
  * the batch. So a key has at most one insert and one delete: more of either is an error.
  *
  * @param columns of the key, for errors
  */
final case class KeyedRecordsExec(columns: String, child: SparkPlan) extends UnaryExecNode {

  override def output: Seq[Attribute] = child.output.init

  override def requiredChildDistribution: Seq[Distribution] = Seq(ClusteredDistribution(Seq(child.output.head)))

  override def requiredChildOrdering: Seq[Seq[SortOrder]] = Seq(Seq(SortOrder(child.output.head, Ascending)))

  override def outputPartitioning: Partitioning = child.outputPartitioning

  override def outputOrdering: Seq[SortOrder] = child.outputOrdering

  override protected def stringArgs: Iterator[Any] = Iterator(columns)

  override lazy val metrics: Map[String, SQLMetric] =
    Map("numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"))

  override protected def doExecute(): RDD[InternalRow] = {
    val (names, types, rowsOut) = (columns, output.map(_.dataType).toArray, longMetric("numOutputRows"))
    child.execute().mapPartitions { changes =>
      val unsafe = UnsafeProjection.create(types)
      KeyedRecordsExec.merged(changes, names).map { case (key, value) =>
        rowsOut += 1
        unsafe(InternalRow(key, value))
      }
    }
  }

  override protected def withNewChildInternal(newChild: SparkPlan): KeyedRecordsExec = copy(child = newChild)
}

private[spark] object KeyedRecordsExec {

  /** Key and value of each record.
    *
    * @param changes key, value and weight, those of a key next to each other
    */
  def merged(changes: Iterator[InternalRow], columns: String): Iterator[(UTF8String, UTF8String)] = {
    val rows = changes.buffered
    new Iterator[(UTF8String, UTF8String)] {

      override def hasNext: Boolean = rows.hasNext

      override def next(): (UTF8String, UTF8String) = {
        val key = rows.head.getUTF8String(0).clone()
        var value: UTF8String = null
        var (inserted, deleted) = (false, false)
        while (rows.hasNext && rows.head.getUTF8String(0) == key) {
          val row = rows.next()
          val weight = row.getLong(2)
          if (weight > 1 || weight < -1 || weight == 1 && inserted || weight == -1 && deleted)
            throw KafkaErrors.keyNotUnique(columns, key.toString)
          if (weight > 0) { inserted = true; value = row.getUTF8String(1).clone() }
          else deleted = true
        }
        (key, value)
      }
    }
  }
}
