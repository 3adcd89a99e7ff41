// One build: the engine (no Spark on its class path) and the plugin that puts it into Spark.

ThisBuild / organization := "io.joinless"
ThisBuild / version := "0.1.0"
ThisBuild / scalaVersion := "2.13.18"

/** The Spark that everything here is built for and tested with; tests compare what else names a version with it. */
val sparkVersion = "4.2.0"
val sparkMinor = sparkVersion.split('.').take(2).mkString(".")

val common = Seq(
  javacOptions ++= Seq("--release", "17"),
  scalacOptions ++= Seq(
    "-release:17",
    "-deprecation",
    "-feature",
    "-unchecked",
    "-Xlint:_,-missing-interpolator",
    "-Wunused:_",
    "-Wdead-code",
    "-Wvalue-discard",
    "-Werror"
  ),
  libraryDependencies ++= Seq(
    "org.scalatest" %% "scalatest" % "3.2.19" % Test,
    "org.scalatestplus" %% "scalacheck-1-18" % "3.2.19.0" % Test
  ),
  Test / fork := true,
  Test / testOptions += Tests.Argument(
    TestFrameworks.ScalaTest,
    "-oDF",
    "-C",
    "io.joinless.engine.times.SuiteTimes"
  )
)

lazy val engine = (project in file("spark-plugin/engine"))
  .settings(common)
  .settings(
    name := "joinless-engine",
    // The mutants of the engine are compiled while its tests run.
    libraryDependencies += "org.scala-lang" % "scala-compiler" % scalaVersion.value % "test-internal",
    // Small thread stacks on purpose: nothing in the engine may recurse over data.
    Test / javaOptions ++= Seq("-Xmx3g", "-XX:+UseSerialGC"),
    TestProcess.groups(
      TestProcess(Seq("io.joinless.engine.")),
      // Mutants live shorter than C2 takes to compile them: they have a process of their own, without it.
      TestProcess(Seq("io.joinless.engine.mutants."), Seq("-XX:TieredStopAtLevel=1"))
    )
  )

/** The plugin, built for one minor version of Spark. What differs between minors is in `src/main/spark-4.1`,
  * `src/main/spark-4.2-4.3` and the like: a folder is for the minor, or the range of them, that its name ends with.
  */
def pluginFor(minor: String) = Seq(
  name := "joinless-spark",
  Test / javaOptions ++= sparkJavaOptions ++ Seq(
    "-Xmx3g",
    "-Xmn768m", // what a batch leaves behind dies young
    "-XX:MetaspaceSize=512m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-XX:ReservedCodeCacheSize=240m"
  ),
  // Two processes that take about as long as each other.
  TestProcess.groups(
    TestProcess(Seq("io.joinless.spark.", "org.apache.spark.")),
    TestProcess(Seq("time.", "exec.", "recovery.").map("io.joinless.spark." + _))
  ),
  Compile / unmanagedSourceDirectories ++= SparkRange.folders((Compile / sourceDirectory).value, minor),
  Test / unmanagedSourceDirectories ++= SparkRange.folders((Test / sourceDirectory).value, minor),
  Compile / sourceGenerators += Def.task(Built.write((Compile / sourceManaged).value, minor, version.value)),
  Test / packageBin / artifactPath := crossTarget.value / "joinless-spark-tests.jar",
  assembly / assemblyJarName := s"joinless-spark-${minor}_${scalaBinaryVersion.value}-${version.value}.jar",
  assembly / assemblyOption ~= (_.withIncludeScala(false)),
  assembly / test := {}
)

lazy val plugin = (project in file("spark-plugin/plugin"))
  .dependsOn(engine % "compile->compile;test->test")
  .settings(common)
  .settings(pluginFor(sparkMinor))
  .settings(libraryDependencies += "org.apache.spark" %% "spark-sql" % sparkVersion % Provided)

/** The same sources for another minor version of Spark, compiled against the jars of its PySpark, which `scripts/setup spark`
  * brings.
  */
def pluginBeside(minor: String): Project =
  Project(s"spark-${minor.replace('.', '-')}", file(s"target/spark-$minor"))
    .dependsOn(engine % "compile->compile;test->test")
    .settings(common)
    .settings(
      sourceDirectory := (plugin / sourceDirectory).value,
      Test / baseDirectory := (plugin / baseDirectory).value, // where tests find files
      Compile / unmanagedJars ++= {
        val jars = ((ThisBuild / baseDirectory).value / ".build/spark" / minor / "pyspark/jars" * "*.jar").classpath
        if (jars.isEmpty) sys.error(s"There is no PySpark $minor in .build/spark: run scripts/setup spark $minor")
        jars
      },
      assembly / assemblyExcludedJars := (Compile / unmanagedJars).value
    )
    .settings(pluginFor(minor))

lazy val spark41 = pluginBeside("4.1")
lazy val spark43 = pluginBeside("4.3")

/** Writes the class paths of the bench: `classpath.txt` has no Spark on it, `classpath-spark.txt` has. */
lazy val writeClasspath = taskKey[Unit]("writes the class paths with which benchmarks/ starts programs of the bench")

lazy val bench = (project in file("spark-plugin/bench"))
  .enablePlugins(JmhPlugin)
  .dependsOn(engine, plugin % Provided)
  .settings(common)
  .settings(
    name := "joinless-bench",
    publish / skip := true,
    libraryDependencies += "org.apache.spark" %% "spark-sql" % sparkVersion % Provided,
    writeClasspath := {
      def write(name: String, classpath: Classpath): Unit =
        IO.write(target.value / name, classpath.files.mkString(java.io.File.pathSeparator))
      write("classpath.txt", (Runtime / fullClasspath).value)
      write("classpath-spark.txt", (Compile / fullClasspath).value)
    },
    // JMH's generator loads every class, the benchmark's sink for Spark among them.
    Jmh / dependencyClasspath := (Compile / fullClasspath).value
  )

/** Spark's own suites, in the jars of its tests: outside of the gate, which neither fetches nor compiles this. */
lazy val suites = (project in file("spark-plugin/suites"))
  .dependsOn(plugin)
  .settings(common)
  .settings(
    name := "joinless-suites",
    publish / skip := true,
    libraryDependencies ++= Seq("core", "catalyst", "sql", "sql-api", "common-utils", "tags").flatMap { part =>
      Seq(
        "org.apache.spark" %% s"spark-$part" % sparkVersion,
        "org.apache.spark" %% s"spark-$part" % sparkVersion classifier "tests"
      )
    },
    // What Spark's tests were compiled with, as its POM says.
    libraryDependencies ++= Seq(
      "org.scalatest" %% "scalatest" % "3.2.19",
      "org.scalatestplus" %% "scalacheck-1-18" % "3.2.19.0",
      "org.scalatestplus" %% "mockito-5-18" % "3.2.19.0"
    ),
    // What `java @java-args.txt` starts. The jar of Spark's SQL tests is unpacked: they open resources as files, some of them
    // below a folder that looks like Spark's sources (`spark.test.home`).
    writeClasspath := {
      val home = target.value / "home"
      val resources = home / "sql/core/src/test/resources"
      val classes = (Runtime / fullClasspath).value.files.map { file =>
        if (!file.getName.matches(raw"spark-sql_.*-tests\.jar")) file
        else {
          val unpacked = home / "unpacked.txt"
          if (!unpacked.exists || IO.read(unpacked) != file.getName) {
            IO.delete(home)
            IO.unzip(file, resources)
            IO.write(unpacked, file.getName)
          }
          resources
        }
      }
      // Ours come first, and with them the settings of the log.
      val arguments = sparkJavaOptions ++
        Seq("-cp", classes.mkString("\"", java.io.File.pathSeparator, "\""), s"-Dspark.test.home=$home")
      IO.writeLines(target.value / "java-args.txt", arguments)
    }
  )

// Of four processes with tests three at a time: they wait, too.
Global / concurrentRestrictions := Seq(
  Tags.limitAll(4),
  Tags.limit(Tags.ForkedTestGroup, 3),
  Tags.exclusiveGroup(Tags.Clean)
)

lazy val root = (project in file("."))
  .aggregate(engine, plugin, bench)
  .settings(name := "joinless", publish / skip := true)

/** What Spark's own launcher opens for Java 17 and later. */
val sparkJavaOptions = Seq(
  "java.lang",
  "java.lang.invoke",
  "java.lang.reflect",
  "java.io",
  "java.net",
  "java.nio",
  "java.util",
  "java.util.concurrent",
  "java.util.concurrent.atomic"
).map(p => s"--add-opens=java.base/$p=ALL-UNNAMED") ++ Seq(
  "sun.nio.ch",
  "sun.nio.cs",
  "sun.security.action",
  "sun.util.calendar"
).map(p => s"--add-opens=java.base/$p=ALL-UNNAMED") ++ Seq(
  "-Djdk.reflect.useDirectMethodHandle=false",
  "-Dio.netty.tryReflectionSetAccessible=true"
)
