package io.joinless.engine.enumerate

import io.joinless.engine.tuples.{IntLists, PagedInts, PagedLongs}

/** One wheel of the odometer: binds a tuple of `node`, given a bound tuple of the node `from`.
  *
  * The candidates are a list of a key: `lists` under `keys(tuple of from)`, or under that tuple itself where it is a key
  * (`keys` null). Without `lists` there is one candidate, the key (a generalized parent). A wheel turns from the last tuple
  * of a list to the first, run by run: within a run it is one step down in one array.
  *
  * @param source the level that binds the tuple of `from`, where the key lies beside that tuple in its list, too; else null
  * @param relations the relations (bit set) whose rows it binds
  * @param weights how often each tuple of `node` counts, null where each counts once
  */
final private[enumerate] class Level(
    val node: Int,
    val from: Int,
    val lists: IntLists,
    val keys: PagedInts,
    val source: Level,
    val relations: Long,
    val weights: PagedLongs,
    val residuals: Array[Residual]
) {
  // the current tuple is page(at); page(end until at) comes next, from above, then `beyond` tuples of other runs, from `rest` on
  private[this] var page = new Array[Int](1)
  private[this] var at = 0
  private[this] var end = 0
  private[this] var besides: Array[Int] = null
  private[this] var shift = 0 // besides(at + shift) lies beside page(at)
  private[this] var beyond = 0
  private[this] var rest = 0

  /** The tuple that is bound now. */
  def tuple: Int = page(at)

  /** What lies beside it in its list. */
  def beside: Int = besides(at + shift)

  /** Number of candidates under the key. */
  def length(key: Int): Int = lists.count(key)

  /** Binds the first candidate; false where there is none. */
  def enter(key: Int): Boolean =
    if (lists == null) {
      page(0) = key
      true
    } else {
      beyond = lists.count(key)
      beyond > 0 && {
        open(lists.first(key))
        true
      }
    }

  /** Binds the next candidate; false behind the last one. */
  def turn(): Boolean =
    if (at > end) {
      at -= 1
      true
    } else
      beyond > 0 && {
        open(rest)
        true
      }

  /** Puts the current candidate and the rest of its run into `run`, and turns to the last of them. */
  def take(run: Run): Unit = {
    run.set(node, page, end, at + 1)
    at = end
  }

  private def open(slot: Int): Unit = {
    val size = lists.inLastRun(beyond)
    beyond -= size
    page = lists.page(slot)
    at = lists.at(slot)
    end = at + 1 - size
    besides = lists.besidePage(slot)
    shift = lists.besideShift(slot)
    if (beyond > 0) rest = lists.below(slot, size)
  }
}
