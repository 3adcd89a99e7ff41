import sbt._

/** Folders of sources for a minor version of Spark, or for a range of them: `spark-4.1`, `spark-4.2-4.3`. */
object SparkRange {

  private val Name = raw"spark-(\d+)\.(\d+)(?:-(\d+)\.(\d+))?".r

  /** The folders in a folder that are for this minor version. */
  def folders(parent: File, minor: String): Seq[File] = {
    val Array(major, number) = minor.split('.').map(_.toInt)
    IO.listFiles(parent).toSeq.filter { folder =>
      folder.getName match {
        case Name(from, first, null, null) => (from.toInt, first.toInt) == ((major, number))
        case Name(from, first, to, last) =>
          Ordering[(Int, Int)].gteq((major, number), (from.toInt, first.toInt)) &&
          Ordering[(Int, Int)].lteq((major, number), (to.toInt, last.toInt))
        case _ => false
      }
    }
  }
}
