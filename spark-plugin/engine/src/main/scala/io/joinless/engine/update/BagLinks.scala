package io.joinless.engine.update

import io.joinless.engine.view.BagIndexes

/** Adds rows to the lists of their relation in a bag, and removes them: one push or removal per
  * list that no other relation has brought the row into.
  */
private[update] object BagLinks {

  /** Adds a row, which lies in the arena, to a relation. */
  def link(bag: BagIndexes, relation: Int, row: Int): Unit = {
    val member = bag.members(relation)
    val before = member.roles(row)
    member.setRoles(row, before | 1L << relation)
    var i = 0
    while (i < member.lists.length) {
      val list = member.lists(i)
      if ((before & list.roles) == 0L) list.rows.push(list.keys.findOrAdd(row, row), row)
      i += 1
    }
  }

  /** Removes a row from a relation. */
  def unlink(bag: BagIndexes, relation: Int, row: Int): Unit = {
    val member = bag.members(relation)
    val after = member.roles(row) & ~(1L << relation)
    member.setRoles(row, after)
    var i = 0
    while (i < member.lists.length) {
      val list = member.lists(i)
      if ((after & list.roles) == 0L) list.rows.remove(list.keys.noted(row), row)
      i += 1
    }
  }
}
