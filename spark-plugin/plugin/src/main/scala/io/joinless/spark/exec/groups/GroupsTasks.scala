package io.joinless.spark.exec.groups

import io.joinless.spark.plans.values.GroupFunction
import io.joinless.spark.spec.GroupShape
import io.joinless.spark.state.groups.GroupArgument
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.joinless.PrefixStore

/** Which task the groups of a shape have. */
private object GroupsTasks {

  /** The task for these groups.
    *
    * @param late where groups close: rows are late if their group closes at this watermark or
    *   before. Milliseconds, as is `watermark`
    * @param watermark the watermark at the end of the batch
    */
  def apply(
      shape: GroupShape,
      functions: Seq[GroupFunction],
      store: PrefixStore,
      rows: Iterator[InternalRow],
      late: Long,
      watermark: Long
  ): GroupsTask = {
    val arguments = GroupArgument.of(functions, shape).toArray
    if (shape.isClosing) new ClosingGroups(shape, functions, arguments, store, rows, late, watermark)
    else if (shape.isAsOf) new AsOfGroups(shape, functions, arguments, store, rows)
    else new ChangingGroups(shape, functions, arguments, store, rows)
  }
}
