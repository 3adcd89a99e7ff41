package io.joinless.spark.changes

/** The table functions over streams, as a session registers them. */
object StreamFunctions {

  val all: Seq[TableFunctions.Registered] = Seq(
    ChangelogInSql.description,
    LatestInSql.description,
    Expire.description,
    IncrementalEnumerate.description,
    KeyInSql.description,
    SampleInSql.description
  )
}
