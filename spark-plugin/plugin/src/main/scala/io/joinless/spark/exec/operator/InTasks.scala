package io.joinless.spark.exec.operator

import java.io.{ByteArrayInputStream, ByteArrayOutputStream, ObjectInputStream, ObjectOutputStream, ObjectStreamClass}

import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan
import org.apache.spark.sql.execution.SparkPlan

/** An operator as its tasks get it: alone, with null in place of the plan below it, and of the
  * logical plan that it was planned from.
  *
  * A function of an RDD that uses its operator would carry both into each task, which reads
  * them first: of a small batch, that is most of a task's work, and of the driver's for it. Alone
  * an operator has a quarter to a half of the bytes.
  */
final private[exec] class InTasks[A <: SparkPlan](@transient private var alone: A) extends Serializable {

  /** The operator, in a task without the plans around it. */
  def operator: A = alone

  /** Java serialization: the operator is written by a writer of its own, as an array of bytes. */
  private def writeObject(out: ObjectOutputStream): Unit = {
    val bytes = new ByteArrayOutputStream
    val own = new InTasks.Writer(bytes, alone)
    own.writeObject(alone)
    own.close()
    out.defaultWriteObject()
    out.writeObject(bytes.toByteArray)
  }

  private def readObject(in: ObjectInputStream): Unit = {
    in.defaultReadObject()
    val bytes = in.readObject().asInstanceOf[Array[Byte]]
    alone = new InTasks.Reader(bytes).readObject().asInstanceOf[A]
  }
}

private object InTasks {

  /** Writes null in place of the operator's children and of logical plans. */
  final private class Writer(bytes: ByteArrayOutputStream, operator: SparkPlan) extends ObjectOutputStream(bytes) {
    enableReplaceObject(true)

    override protected def replaceObject(o: AnyRef): AnyRef = o match {
      case below: SparkPlan if operator.children.exists(_ eq below) => null
      case _: LogicalPlan => null
      case other => other // also the plans of subqueries, which expressions ask for their types
    }
  }

  /** Classes are those of the task, which may come from jars that users added. */
  final private class Reader(bytes: Array[Byte]) extends ObjectInputStream(new ByteArrayInputStream(bytes)) {

    override protected def resolveClass(description: ObjectStreamClass): Class[_] =
      try Class.forName(description.getName, false, Thread.currentThread.getContextClassLoader)
      catch { case _: ClassNotFoundException => super.resolveClass(description) } // of primitive types
  }
}
