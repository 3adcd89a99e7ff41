package io.joinless.engine.mutants

import io.joinless.engine.oracle.CaseFile
import java.io.File
import java.net.{URL, URLClassLoader}
import java.nio.file.{Files, Path}
import scala.reflect.internal.util.BatchSourceFile
import scala.tools.nsc.reporters.StoreReporter
import scala.tools.nsc.{Global, Settings}

/** Compiles a mutant of one source file of the engine and runs the property tests on it, in a class
  * loader of its own.
  */
object MutantEngine {

  private val sources = CaseFile.root.resolve("spark-plugin/engine/src/main/scala/io/joinless/engine")
  private val ofSums = Seq("reduce/", "algebra/ExactSums", "tuples/RowProjection")

  /** The number of cases of each test per round: each test runs so many cases, then as many again,
    * and so on. Most mutants fail among the first cases of one of the tests.
    */
  private val Few = 40L
  private val classPath = System.getProperty("java.class.path")

  /** The failure of the engine with this mutant among the first `cases` random cases; None if
    * nothing fails.
    *
    * @param tests of [[Probe]]
    */
  def probe(mutant: Mutant, cases: Long, tests: Seq[String]): Option[String] = {
    val classes = Files.createTempDirectory("mutant")
    try {
      compile(mutant, classes)
      val loader =
        new ChildFirst(classes.toUri.toURL +: classPath.split(File.pathSeparator).map(new File(_).toURI.toURL))
      try {
        val probe = loader.loadClass("io.joinless.engine.mutants.Probe")
        def found(test: String, from: Long, until: Long) = Option(
          probe.getMethod(test, classOf[Long], classOf[Long]).invoke(null, Long.box(from), Long.box(until))
            .asInstanceOf[String]
        )
        val ends =
          Iterator.iterate(math.min(Few, cases))(end => math.min(2 * end, cases)).takeWhile(_ < cases).toSeq :+ cases
        val parts = for ((from, until) <- (0L +: ends).zip(ends); test <- tests) yield (test, from, until)
        parts.iterator.flatMap { case (test, from, until) => found(test, from, until) }.nextOption()
      } finally loader.close()
    } finally delete(classes)
  }

  /** The tests that should kill a mutant. */
  def testsOf(mutant: Mutant): Seq[String] =
    if (SampleMutants.ofGroups.contains(mutant)) Seq("runGroups")
    else if (DrawMutants.ofPositions.contains(mutant)) Seq("runPositions")
    else if (DrawMutants.ofCells.contains(mutant)) Seq("runCells")
    else if (BagMutants.all.contains(mutant)) Seq("runBags")
    else if (OrderMutants.all.contains(mutant)) Seq("runOrders")
    else if (CycleMutants.all.contains(mutant)) Seq("runTotals")
    else if (SampleMutants.all.contains(mutant)) Seq("runSamples")
    else if (ofSums.exists(mutant.file.startsWith)) Seq("runSums")
    else Seq("run", "runSums")

  /** The source of the file with the mutation applied. */
  def source(mutant: Mutant): String = mutant.mutate(Files.readString(sources.resolve(mutant.file)))

  /** One compiler for all mutants, since most of its cost is start-up. */
  private lazy val compiler = {
    val settings = new Settings
    settings.classpath.value = classPath
    new Global(settings, new StoreReporter(settings))
  }

  private def compile(mutant: Mutant, into: Path): Unit = compiler.synchronized {
    compiler.settings.outputDirs.setSingleOutput(into.toString)
    compiler.reporter.reset()
    new compiler.Run().compileSources(List(new BatchSourceFile(mutant.file, source(mutant))))
    require(!compiler.reporter.hasErrors, s"${mutant.name} does not compile: ${complaints.mkString("; ")}")
  }

  private def complaints = compiler.reporter match {
    case stored: StoreReporter => stored.infos.toSeq
    case _ => Nil
  }

  private def delete(folder: Path): Unit = {
    val files = Files.walk(folder)
    try files.sorted(java.util.Comparator.reverseOrder[Path]).forEach(f => Files.delete(f))
    finally files.close()
  }

  /** Loads the classes of the engine and its tests anew, everything else from the parent. */
  final private class ChildFirst(urls: Array[URL]) extends URLClassLoader(urls, getClass.getClassLoader) {
    override def loadClass(name: String, resolve: Boolean): Class[_] = getClassLoadingLock(name).synchronized {
      if (!name.startsWith("io.joinless.engine.")) super.loadClass(name, resolve)
      else Option(findLoadedClass(name)).getOrElse(findClass(name))
    }
  }
}
