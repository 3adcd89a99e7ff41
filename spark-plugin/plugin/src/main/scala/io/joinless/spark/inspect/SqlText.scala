package io.joinless.spark.inspect

import scala.util.control.NonFatal

import io.joinless.spark.checkpoint.StreamContext
import io.joinless.spark.spec.SqlTexts
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.logical.{LeafNode, Project, Statistics}
import org.apache.spark.sql.joinless.{KeyBytes, SessionPlans}
import org.apache.spark.sql.types.{DataType, NullType}

/** Converts expressions over positions to SQL texts over `c0`, `c1`, …, and back.
  *
  * A text is valid only if this session parses, analyzes and optimizes it to the very same
  * expression. Expressions that another session might understand differently have no text:
  * functions of users, subqueries, and expressions that only a plan node evaluates. Settings that
  * decide the meaning of a text are recorded with it, and a reader parses under these and no
  * others. A text contains only what [[RecordedExpressions]] allow, both when it is written and
  * when it is read.
  *
  * Writing costs a small analysis for each expression that is not a plain column; texts are
  * remembered, because plans are made anew for every batch.
  */
final class SqlText(session: SparkSession) extends SqlTexts {
  import SqlText._

  override def confs: Map[String, String] = {
    val conf = new SessionPlans(session).conf
    Always.map(key => key -> conf.getConfString(key)).toMap ++
      conf.getAllConfs.filter { case (key, _) => Families.exists(key.startsWith) }
  }

  override def of(expression: Expression): Option[String] = expression match {
    case BoundReference(i, _, _) => Some(column(i))
    case other => remembered(Key(nullable(other), confs))(checked(nullable(other)))
  }

  /** The text of an expression, if this session reads it back as the same expression. */
  private def checked(expression: Expression): Option[String] =
    if (expression.exists(isPrivate)) None
    else
      for {
        text <- attempt(named(expression).sql)
        again <- attempt(parsed(new SessionPlans(session), Seq(text), typesOf(expression)).head)
        if again.canonicalized == expression.canonicalized && again.dataType == expression.dataType
      } yield text

  /** The value of `body`; None if it fails. */
  private def attempt[A](body: => A): Option[A] =
    try Some(withoutOverflow(body))
    catch { case NonFatal(_) => None }

  /** Whether another session may understand the expression differently, or not at all. */
  private def isPrivate(e: Expression): Boolean = e match {
    case _: UserDefinedExpression | _: SubqueryExpression | _: Unevaluable => true
    case other => !other.deterministic
  }

  /** The expression over columns `c0`, `c1`, … in place of positions. */
  private def named(expression: Expression): Expression =
    expression.transform { case BoundReference(i, dataType, _) => AttributeReference(column(i), dataType)() }

  /** Types by position; a position that is not named has an arbitrary type, which is not used. */
  private def typesOf(expression: Expression): Seq[DataType] = {
    val types = expression.collect { case BoundReference(i, dataType, _) => i -> dataType }.toMap
    (0 until types.keys.maxOption.fold(0)(_ + 1)).map(types.getOrElse(_, NullType))
  }

  /** The expression over columns as they are stored: any of them may be NULL. */
  private def nullable(expression: Expression): Expression = expression.transform {
    case BoundReference(i, dataType, _) => BoundReference(i, KeyBytes.storedType(dataType), nullable = true)
  }
}

object SqlText {

  /** The greatest length of all texts that belong together. */
  private val MaxLength = 1 << 20

  /** Settings that are recorded whatever their value. */
  private val Always = Seq("spark.sql.ansi.enabled", "spark.sql.session.timeZone")

  /** Settings that are recorded if the session sets them. */
  private val Families = Seq(
    "spark.sql.ansi.",
    "spark.sql.caseSensitive",
    "spark.sql.collation",
    "spark.sql.decimalOperations.",
    "spark.sql.legacy.",
    "spark.sql.mapKeyDedupPolicy",
    "spark.sql.parser."
  )

  /** Parses texts to expressions, over `BoundReference`s into columns of these types.
    *
    * @param confs the settings recorded with the texts
    * @throws IllegalArgumentException if texts or settings are not what this class writes
    */
  def read(
      session: SparkSession,
      texts: Seq[String],
      types: Seq[DataType],
      confs: Map[String, String]
  ): Seq[Expression] =
    if (texts.isEmpty) Nil
    else if (texts.forall(plain(_, types).isDefined)) texts.flatMap(plain(_, types))
    else {
      (confs.keySet -- Always).filterNot(key => Families.exists(key.startsWith)).toSeq.sorted.headOption.foreach {
        key =>
          throw new IllegalArgumentException(s"the setting ${key.take(100)} is none that results depend on")
      }
      val length = texts.iterator.map(_.length.toLong).sum
      if (length > MaxLength) throw new IllegalArgumentException(s"$length characters of text are too many")
      // a session of its own: none of the caller's functions, settings and views
      val own = new SessionPlans(session).fresh()
      own.conf.getAllConfs.keys.filter(key => Families.exists(key.startsWith)).foreach(own.session.conf.unset)
      confs.foreach { case (key, value) => own.session.conf.set(key, value) }
      withoutOverflow(parsed(own, texts, types))
    }

  /** Turns a stack overflow into an ordinary exception: texts may nest, and plans are walked by
    * recursion.
    */
  private def withoutOverflow[A](body: => A): A =
    try body
    catch { case _: StackOverflowError => throw new IllegalArgumentException("it is nested too deep") }

  /** The column that a text names, if it is nothing else: it need not be parsed. */
  private def plain(text: String, types: Seq[DataType]): Option[Expression] =
    types.indices.find(column(_) == text).map(i => BoundReference(i, types(i), nullable = true))

  /** Parses, analyzes and optimizes texts in a session, and checks them before each step that could
    * call a function.
    */
  private def parsed(own: SessionPlans, texts: Seq[String], types: Seq[DataType]): Seq[Expression] =
    own.active(StreamContext.inspecting {
      val columns = types.zipWithIndex.map { case (dataType, i) => AttributeReference(column(i), dataType)() }
      val list = texts.map { text =>
        RecordedExpressions.checkText(text)
        val expression = own.parseExpression(text)
        RecordedExpressions.checkParsed(own, expression, types.size)
        Alias(expression, "value")()
      }
      val analyzed = own.analyzed(Project(list, Columns(columns)))
      analyzed match {
        case Project(values, Columns(_)) => values.map(valueOf).foreach(RecordedExpressions.checkAnalyzed)
        case other => throw new IllegalStateException(s"not a projection: $other")
      }
      own.optimized(analyzed) match {
        case Project(values, Columns(_)) =>
          values.map(valueOf(_).transform { case a: Attribute =>
            val i = columns.indexWhere(_.exprId == a.exprId)
            BoundReference(i, types(i), nullable = true)
          })
        case other => throw new IllegalStateException(s"not a projection: $other")
      }
    })

  private def valueOf(named: NamedExpression): Expression = named match {
    case Alias(value, _) => value
    case value => value
  }

  private def column(i: Int): String = s"c$i"

  /** A leaf that the optimizer knows nothing about. */
  final private case class Columns(output: Seq[Attribute]) extends LeafNode {
    override def computeStats(): Statistics = Statistics(sizeInBytes = conf.defaultSizeInBytes)
  }

  final private case class Key(expression: Expression, confs: Map[String, String])

  // of expressions with a text: those without one may have one in another session
  private val memory = new java.util.LinkedHashMap[Key, String](16, 0.75f, true) {
    override def removeEldestEntry(eldest: java.util.Map.Entry[Key, String]): Boolean = size > 256
  }

  /** The text of this expression under these settings, from memory; else `text`, which is
    * remembered if it is there.
    */
  private def remembered(key: Key)(text: => Option[String]): Option[String] =
    memory.synchronized(Option(memory.get(key))).orElse {
      val found = text
      found.foreach(one => memory.synchronized(memory.put(key, one)))
      found
    }
}
