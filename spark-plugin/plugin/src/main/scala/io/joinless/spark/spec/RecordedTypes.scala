package io.joinless.spark.spec

import scala.util.Try

import org.apache.spark.sql.joinless.KeyBytes
import org.apache.spark.sql.types.{DataType, StructType, UserDefinedType}
import org.json4s.JsonAST._
import org.json4s.jackson.JsonMethods.{compact, render}

/** Reads the types in a checkpoint so that only classes of types are initialised.
  *
  * Spark makes an instance of any class that a schema names as a user-defined type.
  */
private[spec] object RecordedTypes {

  def schema(json: JValue): StructType = {
    checkClasses(json)
    KeyBytes.storedType(DataType.fromJson(compact(render(json)))) match {
      case schema: StructType => schema
      case _ => throw new IllegalArgumentException("a list of columns is no struct")
    }
  }

  private def checkClasses(json: JValue): Unit = json match {
    case JObject(fields) =>
      if (fields.contains("type" -> JString("udt"))) fields.foreach {
        case ("class", JString(name)) if !isType(name) =>
          throw new IllegalArgumentException(s"${name.take(200)} is no class of a type")
        case _ =>
      }
      fields.foreach(field => checkClasses(field._2))
    case JArray(items) => items.foreach(checkClasses)
    case _ =>
  }

  private def isType(name: String): Boolean = {
    val loader = Option(Thread.currentThread.getContextClassLoader).getOrElse(getClass.getClassLoader)
    Try(classOf[UserDefinedType[_]].isAssignableFrom(Class.forName(name, false, loader))).getOrElse(false)
  }
}
