package io.joinless.spark.plans.failures

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.types._

/** Whether the evaluation of an expression can fail on some row, with the settings it was analyzed
  * under.
  *
  * Spark evaluates a condition or a key on the rows that reach its operator. Where our operator
  * would evaluate it on more rows, it must be one that cannot fail. This is known of an expression
  * only if every part of it is listed here: anything else, above all a user-defined function, is
  * assumed to fail. (`Expression.throwable` is no help: a cast is not.)
  */
object CanThrow {

  /** Whether the expression or a part of it can fail. */
  def apply(expression: Expression): Boolean = expression match {
    case _: TryEval | _: Attempt | _: Failure => false
    case e => !isSafe(e) || e.children.exists(apply)
  }

  /** Whether it can fail only because a whole number or a time is too large for its type. Where it
    * fails, it has no value, and is equal to none.
    */
  def onlyByOverflow(expression: Expression): Boolean = {
    val own = expression match {
      case e @ (_: Add | _: Subtract | _: Multiply | _: UnaryMinus | _: Abs) => isWhole(e.dataType)
      case _: TimestampAddInterval | _: TimestampAddYMInterval => true
      case cast: Cast => CastRules.isOnlyTooLarge(cast)
      case _ => false
    }
    apply(expression) && (own || isSafe(expression)) &&
    expression.children.forall(child => !apply(child) || onlyByOverflow(child))
  }

  /** Whether the expression itself cannot fail, whatever values its parts have; its parts are not
    * looked at.
    */
  private def isSafe(e: Expression): Boolean = e match {
    case _: Attribute | _: BoundReference | _: Literal | _: Alias | _: NamedLambdaVariable | _: LambdaFunction => true
    case cast: Cast => !CastRules.canFail(cast)
    case _: BitwiseAnd | _: BitwiseOr | _: BitwiseXor => true
    case arithmetic: BinaryArithmetic => arithmetic.evalMode != EvalMode.ANSI || neverOverflows(arithmetic)
    case minus: UnaryMinus => !minus.failOnError || !isWhole(minus.dataType)
    case abs: Abs => !abs.failOnError || !isWhole(abs.dataType)
    case like: Like => like.right.foldable
    case like: RLike => like.right.foldable
    case _: BinaryComparison | _: Collate | _: ResolvedCollation | _: CollationKey | _: KnownNotNull => true
    case other => listed(other.getClass)
  }

  /** Whether arithmetic fits its type on all rows, and divides by no 0. */
  private def neverOverflows(e: BinaryArithmetic): Boolean = e match {
    case _: Add | _: Subtract | _: Multiply => isFractional(e.dataType) || ValueBounds.fits(e)
    case _: Divide => isFractional(e.dataType) && isPositive(e.right)
    case _: Remainder | _: Pmod | _: IntegralDivide => isPositive(e.right)
    case _ => false
  }

  /** Division by it neither fails nor overflows. */
  private def isPositive(divisor: Expression): Boolean = divisor match {
    case Literal(n: Number, _: ByteType | _: ShortType | _: IntegerType | _: LongType) => n.longValue > 0
    case Literal(x: Number, _: FloatType | _: DoubleType) => x.doubleValue > 0
    case _ => false
  }

  private def isFractional(dataType: DataType): Boolean = dataType == DoubleType || dataType == FloatType

  private def isWhole(dataType: DataType): Boolean = dataType match {
    case ByteType | ShortType | IntegerType | LongType => true
    case _ => false
  }

  private val listed: Set[Class[_]] = Set(
    classOf[And],
    classOf[Or],
    classOf[Not],
    classOf[IsNull],
    classOf[IsNotNull],
    classOf[IsNaN],
    classOf[AtLeastNNonNulls],
    classOf[In],
    classOf[InSet],
    classOf[If],
    classOf[CaseWhen],
    classOf[Coalesce],
    classOf[NaNvl],
    classOf[Least],
    classOf[Greatest],
    classOf[BitwiseNot],
    classOf[UnaryPositive],
    classOf[KnownFloatingPointNormalized],
    classOf[KnownNullable],
    classOf[GetStructField],
    classOf[GetMapValue],
    classOf[CreateNamedStruct],
    classOf[CreateArray],
    classOf[ArrayTransform],
    classOf[Size],
    classOf[Upper],
    classOf[Lower],
    classOf[Concat],
    classOf[ConcatWs],
    classOf[Length],
    classOf[Substring],
    classOf[StringTrim],
    classOf[StringTrimLeft],
    classOf[StringTrimRight],
    classOf[StringReplace],
    classOf[StringInstr],
    classOf[StartsWith],
    classOf[EndsWith],
    classOf[Contains],
    classOf[InitCap],
    classOf[Reverse],
    classOf[Year],
    classOf[Quarter],
    classOf[Month],
    classOf[DayOfMonth],
    classOf[DayOfYear],
    classOf[DayOfWeek],
    classOf[WeekDay],
    classOf[WeekOfYear],
    classOf[Hour],
    classOf[Minute],
    classOf[Second],
    classOf[LastDay],
    classOf[DateAdd],
    classOf[DateSub],
    classOf[DateDiff],
    classOf[TruncDate],
    classOf[TruncTimestamp],
    classOf[Murmur3Hash],
    classOf[XxHash64],
    classOf[Md5],
    classOf[Sha1],
    classOf[Crc32],
    classOf[NormalizeNaNAndZero]
  )
}
