// Runs jobs of the benchmark (benchmarks/jobs.py) on Flink's own SQL joins, in a mini cluster inside this process:
//
//     FlinkJob VARIANT JOB REPORT [VARIANT JOB REPORT ...]
//
// A variant is one of the names in `Variant`. The clock of a run starts when the planned query is submitted and stops when the last result
// has reached the sink; cluster, edges in memory and the unmeasured run are there before. The rows and bytes of state on the heap are left
// out: Flink does not report them.
package joinless.bench.flink;

import java.io.File;
import java.io.FileWriter;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.Stream;
import org.apache.flink.api.common.JobID;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobmaster.JobResult;
import org.apache.flink.runtime.minicluster.MiniCluster;
import org.apache.flink.runtime.minicluster.MiniClusterConfiguration;
import org.apache.flink.runtime.util.EnvironmentInformation;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.node.ObjectNode;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.bridge.java.StreamStatementSet;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

public final class FlinkJob {

    /** How a query is run; the names are those of the systems in benchmarks/systems/flink.py. */
    enum Variant {
        FLINK("flink", false, false, false),
        BEST("flink-best", true, false, false),
        MULTIJOIN("flink-multijoin", true, true, false),
        CHECKPOINTS("flink-best-checkpoints", true, false, true);

        final String system;
        final boolean filteredFirst;
        final boolean multiJoin;
        final boolean checkpoints;

        Variant(String system, boolean filteredFirst, boolean multiJoin, boolean checkpoints) {
            this.system = system;
            this.filteredFirst = filteredFirst;
            this.multiJoin = multiJoin;
            this.checkpoints = checkpoints;
        }

        static Variant of(String system) {
            return Stream.of(values()).filter(v -> v.system.equals(system)).findFirst().orElseThrow();
        }
    }

    public static void main(String[] arguments) throws Exception {
        Path scratch = Files.createTempDirectory("flink-job");
        int status = 0;
        try {
            for (int i = 0; i + 2 < arguments.length; i += 3) {
                Query query = Query.read(new File(arguments[i + 1]));
                new FlinkJob(Variant.of(arguments[i]), query, new File(arguments[i + 2]), scratch).run();
            }
        } catch (Throwable failure) {
            failure.printStackTrace();
            status = 1;
        }
        delete(scratch);
        // Not exit: a job that was stopped may still be busy.
        Runtime.getRuntime().halt(status);
    }

    private final Variant variant;
    private final Query query;
    private final File report;
    private final int cores;
    private final Configuration settings = new Configuration();
    private final String reported; // the settings without folders of this machine

    private FlinkJob(Variant variant, Query query, File report, Path scratch) {
        this.variant = variant;
        this.query = query;
        this.report = report;
        this.cores = query.number("cores");
        set("parallelism.default", cores);
        set("pipeline.object-reuse", true);
        set("execution.buffer-timeout.interval", "1ms"); // a batch's last rows wait in no buffer
        set("state.backend.type", "hashmap");
        set("restart-strategy.type", "disable");
        set("table.optimizer.multi-join.enabled", variant.multiJoin);
        set("rest.bind-address", "localhost");
        set("taskmanager.memory.network.min", "128mb");
        set("taskmanager.memory.network.max", "128mb");
        set("taskmanager.memory.managed.size", "16mb"); // joins on the heap use none
        if (variant.checkpoints) {
            set("execution.checkpointing.interval", "1s");
            set("execution.checkpointing.storage", "filesystem");
        }
        reported = settings.toString();
        set("io.tmp.dirs", scratch);
        set("execution.checkpointing.dir", scratch.resolve("checkpoints").toUri());
    }

    private void set(String key, Object value) {
        settings.setString(key, value.toString());
    }

    private void run() throws Exception {
        confirmPlan();
        List<Edges> tables = new ArrayList<>();
        for (int i = 0; i < query.tables().size(); i++) {
            Path folder = Path.of(query.tables().get(i));
            tables.add(Edges.read(folder, query.columns(i).size(), query.number("batches"), cores));
        }
        append(event("start")
                .put("system", variant.system)
                .put("version", EnvironmentInformation.getVersion())
                .put("settings", query.sql(variant.filteredFirst) + "; " + reported));
        MiniClusterConfiguration cluster = new MiniClusterConfiguration.Builder()
                .setConfiguration(settings)
                .setNumSlotsPerTaskManager(cores)
                .withRandomPorts()
                .build();
        try (MiniCluster flink = new MiniCluster(cluster)) {
            flink.start();
            int warmUp = Math.min(query.number("warm_up"), query.number("batches"));
            if (warmUp > 0) {
                stream(flink, new Run(warmUp, tables, cores, (batch, seconds, plus, minus, check) -> {}));
            }
            boolean inTime = true;
            for (int i = 0; i < query.number("runs") && inTime; i++) {
                inTime = measure(flink, tables, i);
            }
        }
    }

    private boolean measure(MiniCluster flink, List<Edges> tables, int number) throws Exception {
        System.gc();
        Run run = new Run(query.number("batches"), tables, cores, (batch, seconds, plus, minus, check) ->
                append(event("batch")
                        .put("run", number)
                        .put("batch", batch)
                        .put("seconds", seconds)
                        .put("plus", plus)
                        .put("minus", minus)
                        .put("check", new BigInteger(Long.toUnsignedString(check)))));
        boolean inTime = stream(flink, run);
        if (inTime) {
            append(event("run")
                    .put("run", number)
                    .put("seconds", run.seconds())
                    .put("plus", run.plus())
                    .put("minus", run.minus())
                    .put("check", new BigInteger(Long.toUnsignedString(run.check()))));
        }
        return inTime;
    }

    /** Runs the query once; false if it was stopped at the limit. */
    private boolean stream(MiniCluster flink, Run run) throws Exception {
        JobGraph graph = plan();
        JobID id = graph.getJobID();
        Run.current = run;
        run.start();
        flink.submitJob(graph).get();
        double limit = query.job().get("limit").asDouble();
        try {
            JobResult result = flink.requestJobResult(id).get((long) (1000 * run.left(limit)), TimeUnit.MILLISECONDS);
            result.toJobExecutionResult(FlinkJob.class.getClassLoader());
            return true;
        } catch (TimeoutException late) {
            flink.cancelJob(id).get();
            flink.requestJobResult(id).get(60, TimeUnit.SECONDS);
            return false;
        }
    }

    private JobGraph plan() throws Exception {
        StreamExecutionEnvironment environment = StreamExecutionEnvironment.getExecutionEnvironment(settings);
        statements(environment).attachAsDataStream();
        return environment.getStreamGraph().getJobGraph();
    }

    @SuppressWarnings("deprecation") // its successor takes only catalogs with a registered factory
    private StreamStatementSet statements(StreamExecutionEnvironment environment) throws Exception {
        StreamTableEnvironment tables = StreamTableEnvironment.create(environment);
        tables.registerCatalog("bench", new Tables(query));
        tables.useCatalog("bench");
        return tables.createStatementSet().addInsertSql(query.sql(variant.filteredFirst));
    }

    /** Fails unless the plan reads each folder once, and joins by the operator that is asked for. */
    private void confirmPlan() throws Exception {
        String plan = statements(StreamExecutionEnvironment.getExecutionEnvironment(settings)).explain();
        plan = plan.substring(plan.indexOf("== Optimized Execution Plan =="));
        int scans = plan.split("TableSourceScan\\(", -1).length - 1;
        boolean multiJoin = plan.contains("MultiJoin(");
        boolean binary = plan.replace("MultiJoin(", "").contains("Join(");
        if (scans != query.tables().size() || multiJoin != variant.multiJoin || binary == variant.multiJoin) {
            throw new IllegalStateException("Flink does not plan what " + variant.system + " measures:\n" + plan);
        }
    }

    private static ObjectNode event(String name) {
        return new ObjectMapper().createObjectNode().put("event", name);
    }

    private void append(ObjectNode event) {
        try (FileWriter file = new FileWriter(report, true)) {
            file.write(event + "\n");
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private static void delete(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
        }
    }
}
