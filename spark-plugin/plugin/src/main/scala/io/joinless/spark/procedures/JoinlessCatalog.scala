package io.joinless.spark.procedures

import java.util.Locale

import io.joinless.spark.errors.ViewErrors
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure
import org.apache.spark.sql.connector.catalog.{Identifier, ProcedureCatalog}
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.util.CaseInsensitiveStringMap

/** The catalog `joinless` of the procedures in `CALL joinless.status()`. It has no tables.
  *
  * Spark makes an instance per session, when a statement first names the catalog.
  */
final class JoinlessCatalog extends ProcedureCatalog {
  import JoinlessCatalog._

  override def initialize(name: String, options: CaseInsensitiveStringMap): Unit = ()

  override def name: String = Name

  override def loadProcedure(procedure: Identifier): UnboundProcedure = procedures
    .find(known => procedure.namespace.isEmpty && known.name == procedure.name.toLowerCase(Locale.ROOT))
    .getOrElse(throw ViewErrors.noProcedure(procedure.toString, procedures.map(_.name)))

  override def listProcedures(namespace: Array[String]): Array[Identifier] =
    if (namespace.isEmpty) procedures.map(known => Identifier.of(Array.empty, known.name)).toArray else Array.empty
}

object JoinlessCatalog {
  private val Name = "joinless"

  private val procedures: Seq[ViewProcedure] = Seq(
    DropProcedure,
    EvolveProcedure,
    ExplainProcedure,
    MaterializeProcedure,
    ReplaceProcedure,
    StatusProcedure,
    VerifyProcedure
  )

  /** Names the catalog's class to Spark as the default of the setting that users name catalogs by.
    * So the catalog is there in every session, and a catalog of the user's with this name is used
    * instead.
    */
  private val Setting = SQLConf
    .buildConf(s"spark.sql.catalog.$Name")
    .internal()
    .doc("The catalog of the procedures of Joinless.")
    .version("0.1.0")
    .stringConf
    .createWithDefault(classOf[JoinlessCatalog].getName)

  /** Makes the catalog known to all sessions. */
  def register(): Unit = require(Setting.key.nonEmpty)
}
