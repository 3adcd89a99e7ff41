import sbt._

/** Writes down, for the code, what the build says of versions. */
object Built {

  def write(folder: File, spark: String, release: String): Seq[File] = {
    val file = folder / "Built.scala"
    IO.write(
      file,
      s"""package io.joinless.spark.conf
         |
         |/** What the build says of versions; written by it. */
         |object Built {
         |
         |  /** The minor version of Spark. */
         |  val Spark = "$spark"
         |
         |  /** The release of Joinless. */
         |  val Release = "$release"
         |}
         |""".stripMargin
    )
    Seq(file)
  }
}
