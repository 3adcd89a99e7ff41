import sbt._
import sbt.Keys._

/** A process of its own for the suites whose names begin with one of its prefixes; of several processes the longest prefix
  * decides. It has the prefixes in its environment: by them the reporter of times finds the process of a suite.
  */
final case class TestProcess(prefixes: Seq[String], javaOptions: Seq[String] = Nil) {

  private def fits(suite: TestDefinition): Int =
    (-1 +: prefixes.filter(suite.name.startsWith).map(_.length)).max

  private def group(suites: Seq[TestDefinition], options: ForkOptions): Tests.Group = {
    val own = options
      .withRunJVMOptions(options.runJVMOptions ++ javaOptions)
      .withEnvVars(options.envVars + ("JOINLESS_SUITES" -> prefixes.mkString(",")))
    Tests.Group(prefixes.head, suites, Tests.SubProcess(own))
  }
}

object TestProcess {

  /** The tests of a project in these processes. */
  def groups(processes: TestProcess*): Setting[Task[Seq[Tests.Group]]] = Test / testGrouping := {
    val options = (Test / forkOptions).value
    (Test / definedTests).value
      .groupBy(suite => processes.maxBy(_.fits(suite)))
      .map { case (process, suites) => process.group(suites, options) }
      .toSeq
  }
}
