// One query of benchmarks/bounded.py with Flink's interval joins:
//
//     IntervalJob JOB REPORT
//
// The job names folders of CSV files, one file per batch and three whole numbers a line, of which one is a second; and the query, over tables
// of these columns and `ts`. The readers of all tables end a batch before any begins the next, and send a watermark behind each. The clock starts
// with the batch `from` and stops when the last row has left the query. Rows and bytes of state are left out: Flink does not report them.
package joinless.bench.flink;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CyclicBarrier;
import java.util.stream.Stream;
import org.apache.flink.api.common.JobExecutionResult;
import org.apache.flink.api.common.accumulators.LongCounter;
import org.apache.flink.api.common.functions.OpenContext;
import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.util.EnvironmentInformation;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.functions.source.legacy.SourceFunction;
import org.apache.flink.streaming.api.watermark.Watermark;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.Table;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.types.Row;

public final class IntervalJob {

    private static CyclicBarrier batches;
    private static long[] begun;

    public static void main(String[] arguments) throws Exception {
        JsonNode job = new ObjectMapper().readTree(new File(arguments[0]));
        JsonNode tables = job.get("tables");
        Configuration settings = new Configuration();
        settings.setString("parallelism.default", "2");
        settings.setString("pipeline.object-reuse", "true");
        settings.setString("state.backend.type", "hashmap");
        settings.setString("restart-strategy.type", "disable");
        settings.setString("rest.bind-address", "localhost");
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.createLocalEnvironment(2, settings);
        StreamTableEnvironment sql = StreamTableEnvironment.create(environment);
        batches = new CyclicBarrier(tables.size());
        for (Iterator<String> names = tables.fieldNames(); names.hasNext(); ) {
            String name = names.next();
            define(environment, sql, name, tables.get(name), job.get("delay").asLong());
        }
        Table result = sql.sqlQuery(job.get("sql").asText());
        String plan = result.explain();
        if (plan.substring(plan.indexOf("== Optimized Execution Plan ==")).split("IntervalJoin\\(", -1).length != 3) {
            throw new IllegalStateException("Flink does not plan two interval joins:\n" + plan);
        }
        sql.toDataStream(result).map(new Count()).returns(Types.BOOLEAN).sinkTo(new DiscardingSink<>());
        JobExecutionResult done = environment.execute();
        double seconds = (System.nanoTime() - begun[job.get("from").asInt()]) / 1e9;
        new ObjectMapper().writeValue(new File(arguments[1]), new ObjectMapper().createObjectNode()
                .put("version", EnvironmentInformation.getVersion())
                .put("seconds", seconds)
                .put("rows", done.<Long>getAccumulatorResult("rows"))
                .put("sum", done.<Long>getAccumulatorResult("sum")));
        Runtime.getRuntime().halt(0);
    }

    private static void define(
            StreamExecutionEnvironment environment, StreamTableEnvironment sql, String name, JsonNode table, long delay)
            throws IOException {
        List<String> columns = new ArrayList<>();
        table.get("columns").forEach(column -> columns.add(column.asText()));
        List<long[]> files = new ArrayList<>();
        try (Stream<Path> paths = Files.list(Path.of(table.get("folder").asText()))) {
            paths.sorted().forEach(path -> files.add(read(path)));
        }
        begun = new long[files.size()];
        Schema schema = Schema.newBuilder()
                .columnByMetadata("ts", DataTypes.TIMESTAMP_LTZ(3), "rowtime")
                .watermark("ts", "SOURCE_WATERMARK()")
                .build();
        sql.createTemporaryView(
                name,
                environment.addSource(
                        new Rows(files, columns.indexOf("sec"), delay),
                        name,
                        Types.ROW_NAMED(columns.toArray(new String[0]), Types.LONG, Types.LONG, Types.LONG)),
                schema);
    }

    private static long[] read(Path path) {
        try (Stream<String> lines = Files.lines(path)) {
            return lines.flatMap(line -> Stream.of(line.split(","))).mapToLong(Long::parseLong).toArray();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The rows of a table, batch by batch. */
    private static final class Rows implements SourceFunction<Row> {
        private final List<long[]> files;
        private final int second;
        private final long delay;
        private volatile boolean running = true;

        Rows(List<long[]> files, int second, long delay) {
            this.files = files;
            this.second = second;
            this.delay = delay;
        }

        @Override
        public void run(SourceContext<Row> output) throws Exception {
            long newest = Long.MIN_VALUE;
            for (int batch = 0; running && batch < files.size(); batch++) {
                try {
                    batches.await();
                } catch (BrokenBarrierException e) {
                    return;
                }
                begun[batch] = System.nanoTime();
                long[] values = files.get(batch);
                for (int i = 0; i < values.length; i += 3) {
                    long time = 1000 * values[i + second];
                    newest = Math.max(newest, time);
                    output.collectWithTimestamp(Row.of(values[i], values[i + 1], values[i + 2]), time);
                }
                output.emitWatermark(new Watermark(newest - 1000 * delay - 1));
            }
        }

        @Override
        public void cancel() {
            running = false;
        }
    }

    /** Counts rows, and adds up their last column. */
    private static final class Count extends RichMapFunction<Row, Boolean> {
        private final LongCounter rows = new LongCounter();
        private final LongCounter sum = new LongCounter();

        @Override
        public void open(OpenContext context) {
            getRuntimeContext().addAccumulator("rows", rows);
            getRuntimeContext().addAccumulator("sum", sum);
        }

        @Override
        public Boolean map(Row row) {
            rows.add(1);
            sum.add(row.<Number>getFieldAs(row.getArity() - 1).longValue());
            return true;
        }
    }

    private IntervalJob() {}
}
