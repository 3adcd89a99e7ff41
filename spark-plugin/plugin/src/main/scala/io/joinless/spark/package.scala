package io.joinless

/** Joinless for Apache Spark: what a user adds with `spark.sql.extensions`. */
package object spark
