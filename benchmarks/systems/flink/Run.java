// One run of a query: how far its stream is and what has arrived at its sink. Sources, sink and main program are threads of one process and
// share it as `Run.current`.
//
// Flink knows no batches, but it keeps watermarks in order with rows. Each reader of a source ends batch b with watermark b, and an operator
// passes a watermark on when it has arrived on every input; so batch b is done when all writers of the sink have seen watermark b, each once.
//
// The sources wait for that before they go on. Left alone they run ahead, one join input before the other, and where edges are inserted and
// deleted again results of whole batches never appear.
package joinless.bench.flink;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;

final class Run {

    static volatile Run current;

    /** What one writer of the sink has counted. Only that writer changes it, without fences; others may read it at any time. */
    static final class Counts {
        private final AtomicLong plus = new AtomicLong();
        private final AtomicLong minus = new AtomicLong();
        private final AtomicLong check = new AtomicLong();

        void inserted(long rowCheck) {
            plus.lazySet(plus.getPlain() + 1);
            check.lazySet(check.getPlain() + rowCheck);
        }

        void deleted(long rowCheck) {
            minus.lazySet(minus.getPlain() + 1);
            check.lazySet(check.getPlain() - rowCheck);
        }
    }

    interface BatchListener {
        void batch(int batch, double seconds, long plus, long minus, long check);
    }

    final int batches;
    private final List<Edges> tables;
    private final int writers;
    private final BatchListener listener;
    private final List<Counts> sinks = new CopyOnWriteArrayList<>();
    private final List<CompletableFuture<Void>> done;
    private final int[] arrived; // writers, by batch
    private long start;
    private double seconds;
    private long plus;
    private long minus;
    private long check;

    Run(int batches, List<Edges> tables, int writers, BatchListener listener) {
        this.batches = batches;
        this.tables = tables;
        this.writers = writers;
        this.listener = listener;
        this.done = IntStream.range(0, batches).mapToObj(i -> new CompletableFuture<Void>()).toList();
        this.arrived = new int[batches];
    }

    void start() {
        start = System.nanoTime();
    }

    Edges table(int i) {
        return tables.get(i);
    }

    Counts newCounts() {
        Counts counts = new Counts();
        sinks.add(counts);
        return counts;
    }

    /** Completes when all results of the batch have arrived. */
    CompletableFuture<Void> done(int batch) {
        return done.get(batch);
    }

    /** A writer of the sink has all its results of the batches up to this one. */
    void arrived(long watermark) {
        if (watermark < batches && arrivedEverywhere((int) watermark)) {
            done.get((int) watermark).complete(null);
        }
    }

    private synchronized boolean arrivedEverywhere(int batch) {
        if (++arrived[batch] < writers) {
            return false;
        }
        double before = seconds;
        long plusBefore = plus;
        long minusBefore = minus;
        long checkBefore = check;
        seconds = (System.nanoTime() - start) / 1e9;
        plus = sinks.stream().mapToLong(sink -> sink.plus.get()).sum();
        minus = sinks.stream().mapToLong(sink -> sink.minus.get()).sum();
        check = sinks.stream().mapToLong(sink -> sink.check.get()).sum();
        listener.batch(batch, seconds - before, plus - plusBefore, minus - minusBefore, check - checkBefore);
        return true;
    }

    /** From the start to the last batch that is done; so are the counts. */
    double seconds() {
        return seconds;
    }

    long plus() {
        return plus;
    }

    long minus() {
        return minus;
    }

    long check() {
        return check;
    }

    /** Seconds that are left of a limit. */
    double left(double limit) {
        return limit - (System.nanoTime() - start) / 1e9;
    }
}
