package io.joinless.spark.spec

/** The roles of a row as bits: bit i is set where the row belongs to relation i. They are walked
  * without an object per row:
  * {{{
  * var rolesLeft = roles
  * while (rolesLeft != 0L) {
  *   read(Roles.first(rolesLeft))
  *   rolesLeft = Roles.rest(rolesLeft)
  * }
  * }}}
  */
object Roles {

  def of(relations: Iterable[Int]): Long = relations.foldLeft(0L)(_ | 1L << _)

  def contains(roles: Long, role: Int): Boolean = (roles >>> role & 1L) != 0L

  /** The lowest role; there is one. */
  def first(roles: Long): Int = java.lang.Long.numberOfTrailingZeros(roles)

  /** All roles but the lowest. */
  def rest(roles: Long): Long = roles & (roles - 1)

  /** All roles but one. */
  def without(roles: Long, role: Int): Long = roles & ~(1L << role)
}
