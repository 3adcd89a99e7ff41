package io.joinless.engine.sample
import org.scalatest.funsuite.AnyFunSuite
class TmpSpec extends AnyFunSuite {
  test("x") { var checks = 0; var bad = 0; val t = System.nanoTime; var s = 100000L
   while (System.nanoTime - t < 420e9) { val l = SampleLaw.draw(s, 20000); l.run().foreach { w => bad += 1; println(s"TMP $s $w") }; checks += l.checks; s += 1 }
   println(s"TMP seeds ${s - 100000} checks $checks bad $bad") }
}
