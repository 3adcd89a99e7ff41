package io.joinless

/** Joinless for Apache Spark: the plugin that a user adds with `spark.sql.extensions`. */
package object spark
