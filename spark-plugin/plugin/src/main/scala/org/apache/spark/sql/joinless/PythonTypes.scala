package org.apache.spark.sql.joinless

import org.apache.spark.sql.types.{DataType, PythonUserDefinedType}

/** User-defined types that Python alone knows: they contain a pickled class.
  *
  * Private to Spark: `DataType.transformRecursively` and `PythonUserDefinedType`.
  */
object PythonTypes {

  /** The type of the values as they are stored. */
  def stored(dataType: DataType): DataType = dataType.transformRecursively { case udt: PythonUserDefinedType =>
    stored(udt.sqlType)
  }
}
