package io.joinless.spark.inspect

import java.util.Locale

import org.apache.spark.sql.catalyst.analysis.{UnresolvedAttribute, UnresolvedExtractValue, UnresolvedFunction}
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.joinless.{Functions, SessionPlans}

/** The expressions that texts of a checkpoint may contain: expressions over `c0`, `c1`, … of
  * Spark's own deterministic functions.
  *
  * A reader of a checkpoint trusts Spark and this list, not the checkpoint's author. So the parsed
  * tree is checked before the analyzer gets it, since the analyzer makes functions and evaluates
  * some arguments. The analyzed tree is checked before the optimizer gets it, since the optimizer
  * evaluates constants. Constants are literals, their casts, and collections of them: no function
  * is ever called to read a text.
  *
  * A function is on the list by its class, under all names that Spark itself gives it, and only if
  * that name has the same meaning in the session. Functions that read a file, a setting, the clock
  * or the session are not on it, nor are functions that run other code, that are random, that
  * aggregate or that generate rows. Lambda functions are not either: Spark prints none in a form
  * that it parses.
  */
object RecordedExpressions {

  /** Longer texts are not recorded. */
  val MaxLength = 65536

  /** The greatest nesting depth of parentheses, brackets and CASEs. Spark's parser works on its
    * thread's stack.
    */
  val MaxNesting = 100

  /** A text contains what is not on the list; the message says what. */
  final class NotAllowed(what: String) extends IllegalArgumentException(what)

  /** Refuses a text that is too long or nested too deep, before it is parsed. */
  def checkText(text: String): Unit = {
    if (text.length > MaxLength) refuse(s"a text of ${text.length} characters is too long")
    if (nesting(text) > MaxNesting) refuse(s"a text is nested deeper than $MaxNesting")
  }

  /** Refuses a parsed text that names a function or a column that it must not.
    *
    * @param columns number of columns that the text may name
    */
  def checkParsed(session: SessionPlans, expression: Expression, columns: Int): Unit = expression.foreach {
    case UnresolvedAttribute(column +: _) =>
      if (!isColumn(column, columns)) refuse(s"it names $column, which is no column of the join")
    case call: UnresolvedFunction => checkCall(session, call)
    case _: UnresolvedExtractValue | _: UnresolvedCollation =>
    case other => checkClass(other)
  }

  /** Refuses an analyzed expression with a class that is not on the list, or with a function over
    * constants, which the optimizer would call.
    */
  def checkAnalyzed(expression: Expression): Unit = {
    checkClass(expression)
    if (!expression.deterministic) refuse(s"${expression.prettyName} is not deterministic")
    if (!expression.foldable) inputs(expression).foreach(checkAnalyzed)
    else if (expression.exists(e => !Constants(e.getClass.getSimpleName)))
      refuse(s"it calls ${expression.prettyName} for a constant")
  }

  /** The expressions that an expression is computed from, as the text has them. */
  private def inputs(expression: Expression): Seq[Expression] = expression match {
    case replaced: InheritAnalysisRules => replaced.parameters
    case other => other.children
  }

  /** Refuses a call of a function that is not on the list, that has another meaning in the session,
    * or that has constants as its only arguments.
    */
  private def checkCall(session: SessionPlans, call: UnresolvedFunction): Unit = {
    val name = call.nameParts.mkString(".")
    val plain =
      call.nameParts.size == 1 && !call.isDistinct && !call.isInternal && call.filter.isEmpty &&
        call.orderingWithinGroup.isEmpty && !Functions.choosesNulls(call)
    val found = if (plain) Functions.builtinClass(name) else None
    if (!found.exists(name => inSpark(name) && Classes(simple(name)))) refuse(s"the function $name is not on the list")
    val meant = session.functionClass(name)
    if (meant != found) refuse(s"the function $name is not Spark's in this session")
    val constructs = Set("array", "map", "named_struct", "struct")(name.toLowerCase(Locale.ROOT))
    if (!constructs && !call.exists(_.isInstanceOf[UnresolvedAttribute])) refuse(s"it calls $name for a constant")
  }

  /** Refuses an expression whose class is not on the list. */
  private def checkClass(expression: Expression): Unit = {
    val name = expression.getClass.getName
    if (!inSpark(name) || !Classes(simple(name))) refuse(s"${expression.prettyName} is not on the list")
  }

  /** Whether a class is one of Spark's own expressions. */
  private def inSpark(className: String): Boolean = className.startsWith("org.apache.spark.sql.catalyst.expressions.")

  /** The name of a class without its package. */
  private def simple(className: String): String = className.substring(className.lastIndexOf('.') + 1).stripSuffix("$")

  /** Whether a name is `c0`, `c1`, … and its number is below `columns`. */
  private def isColumn(name: String, columns: Int): Boolean =
    name.startsWith("c") && name.length <= 10 && name.drop(1).forall(c => c >= '0' && c <= '9') &&
      name.drop(1).toIntOption.exists(i => i < columns && name == s"c$i")

  private def refuse(what: String): Nothing = throw new NotAllowed(what)

  /** The nesting depth of a text; text in quotes is skipped. */
  private def nesting(text: String): Int = {
    var (depth, deepest, at) = (0, 0, 0)

    /** Moves to the closing quote of the text at `at`. */
    def skipQuoted(quote: Char): Unit = {
      at += 1
      while (at < text.length && text.charAt(at) != quote) at += (if (text.charAt(at) == '\\' && quote != '`') 2 else 1)
    }

    /** The word that begins at `at`, in upper case; moves to its last letter. */
    def word(): String = {
      val from = at
      while (at + 1 < text.length && Character.isJavaIdentifierPart(text.charAt(at + 1))) at += 1
      text.substring(from, at + 1).toUpperCase(Locale.ROOT)
    }
    while (at < text.length) {
      text.charAt(at) match {
        case quote @ ('\'' | '"' | '`') => skipQuoted(quote)
        case '(' | '[' => depth += 1
        case ')' | ']' => depth -= 1
        case c if Character.isJavaIdentifierStart(c) =>
          word() match {
            case "CASE" => depth += 1
            case "END" => depth -= 1
            case _ =>
          }
        case _ =>
      }
      deepest = math.max(deepest, depth)
      at += 1
    }
    deepest
  }

  /** The classes that constants consist of. */
  private val Constants =
    Set(
      "Literal",
      "Cast",
      "CreateArray",
      "CreateMap",
      "CreateNamedStruct",
      "UnaryMinus",
      "UnaryPositive",
      "Collate",
      "ResolvedCollation"
    )

  /** Expressions by class; if a function is made by a builder, the builder as well. */
  private val Classes: Set[String] = Constants ++ words("""
    AttributeReference UnresolvedCollation CollateExpressionBuilder Collation CollationKey KnownNotNull KnownNullable
    KnownFloatingPointNormalized NamePlaceholder

    And Or Not EqualTo EqualNullSafe EqualNull LessThan LessThanOrEqual GreaterThan GreaterThanOrEqual Between In InSet IsNull
    IsNotNull IsNaN IsUnknown IsNotUnknown If CaseWhen Coalesce Nvl Nvl2 NullIf NullIfZero ZeroIfNull NaNvl Greatest Least
    AtLeastNNonNulls

    Add Subtract Multiply Divide IntegralDivide Remainder Pmod Abs UnaryMinus UnaryPositive TryAdd TrySubtract TryMultiply
    TryDivide TryMod Acos Acosh Asin Asinh Atan Atan2 Atanh BRound Bin Cbrt Ceil CeilExpressionBuilder RoundCeil Conv Cos Cosh
    Cot Csc EulerNumber Exp Expm1 Factorial Floor FloorExpressionBuilder RoundFloor Hex Unhex Hypot Log Log10 Log1p Log2
    Logarithm Pi Pow Rint Round Sec Signum Sin Sinh Sqrt Tan Tanh ToDegrees ToRadians WidthBucket CheckOverflow MakeDecimal
    UnscaledValue DecimalDivideWithOverflowCheck DecimalAddNoOverflowCheck
    BitwiseAnd BitwiseOr BitwiseXor BitwiseNot BitwiseCount BitwiseGet ShiftLeft ShiftRight ShiftRightUnsigned

    Ascii Base64 UnBase64 BitLength OctetLength Length Chr Concat ConcatWs Contains ContainsExpressionBuilder StartsWith
    StartsWithExpressionBuilder EndsWith EndsWithExpressionBuilder Decode StringDecode Encode Elt FindInSet FormatNumber
    FormatString InitCap IsValidUTF8 MakeValidUTF8 ValidateUTF8 TryValidateUTF8 Left Right Levenshtein Like ILike LikeAll LikeAny
    NotLikeAll NotLikeAny RLike RegExpCount RegExpExtract RegExpExtractAll RegExpInStr RegExpReplace RegExpSubStr Lower Upper
    LPadExpressionBuilder RPadExpressionBuilder StringLPad StringRPad BinaryPad Luhncheck Mask MaskExpressionBuilder Overlay
    Quote Reverse SoundEx SplitPart StringSplit StringSplitSQL StringInstr StringLocate StringRepeat StringReplace StringSpace
    StringToMap StringTranslate StringTrim StringTrimBoth StringTrimLeft StringTrimRight Substring SubstringIndex ToBinary
    TryToBinary ToCharacter ToCharacterBuilder ToNumber TryToNumber UrlDecode UrlEncode TryUrlDecode ParseUrl TryParseUrl
    Crc32 Md5 Sha1 Sha2 Murmur3Hash XxHash64

    AddMonths ConvertTimezone DateAdd DateAddInterval DateAddYMInterval DateDiff DateFormatClass DateFromUnixDate DatePart
    DatePartExpressionBuilder DateSub DayName DayOfMonth DayOfWeek DayOfYear Extract FromUTCTimestamp FromUnixTime GetTimestamp
    Hour HourExpressionBuilder HoursOfTime LastDay MakeDate MakeDTInterval MakeInterval TryMakeInterval MakeTime MakeTimestamp
    MakeTimestampExpressionBuilder MakeTimestampFromDateTime MakeTimestampNTZ MakeTimestampLTZExpressionBuilder
    MakeTimestampNTZExpressionBuilder MakeYMInterval TryMakeTimestamp TryMakeTimestampExpressionBuilder
    TryMakeTimestampFromDateTime TryMakeTimestampLTZExpressionBuilder TryMakeTimestampNTZExpressionBuilder MicrosToTimestamp
    MillisToTimestamp SecondsToTimestamp Minute MinuteExpressionBuilder MinutesOfTime Month MonthName MonthsBetween NextDay
    ParseToDate ParseToTimestamp ParseToTimestampLTZExpressionBuilder ParseToTimestampNTZExpressionBuilder Quarter Second
    SecondExpressionBuilder SecondWithFraction SecondsOfTime SecondsOfTimeWithFraction SubtractDates SubtractTimes
    SubtractTimestamps DatetimeSub TimeAddInterval TimeDiff TimeFromMicros TimeFromMillis TimeFromSeconds TimeToMicros
    TimeToMillis TimeToSeconds TimeTrunc TimestampAdd TimestampAddInterval TimestampAddYMInterval TimestampDiff ToTime
    ToUTCTimestamp ToUnixTimestamp TruncDate TruncTimestamp TryToDateExpressionBuilder TryToTimeExpressionBuilder
    TryToTimestampExpressionBuilder UnixDate UnixMicros UnixMillis UnixSeconds UnixTimestamp WeekDay WeekOfYear Year YearOfWeek
    PreciseTimestampConversion CastTimestampNTZToLong
    ExtractANSIIntervalDays ExtractANSIIntervalHours ExtractANSIIntervalMinutes ExtractANSIIntervalMonths
    ExtractANSIIntervalSeconds ExtractANSIIntervalYears ExtractIntervalDays ExtractIntervalHours ExtractIntervalMinutes
    ExtractIntervalMonths ExtractIntervalSeconds ExtractIntervalYears DivideDTInterval DivideInterval DivideYMInterval
    MultiplyDTInterval MultiplyInterval MultiplyYMInterval

    ArrayAppend ArrayCompact ArrayContains ArrayDistinct ArrayExcept ArrayInsert ArrayIntersect ArrayJoin ArrayMax ArrayMin
    ArrayPosition ArrayPrepend ArrayRemove ArrayRepeat ArraySize ArrayUnion ArraysOverlap ArraysZip ElementAt TryElementAt Flatten
    Get GetArrayItem GetArrayStructFields GetMapValue GetStructField MapConcat MapContainsKey MapEntries MapFromArrays
    MapFromEntries MapKeys MapValues Sequence Size Slice SortArray
    GetJsonObject JsonObjectKeys LengthOfJsonArray StructsToJson StructsToCsv
  """)

  /** The words of a text. */
  private def words(text: String): Set[String] = text.split("\\s+").filter(_.nonEmpty).toSet
}
