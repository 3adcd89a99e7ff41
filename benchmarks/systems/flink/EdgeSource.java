// Flink's source of one table of the current run: each parallel reader emits its part of the rows as internal ones, ends each batch with a
// watermark, and goes on when the batch is done. A reader fills one row again and again, which object reuse allows. Its position is checkpointed, but nothing restarts from it.
package joinless.bench.flink;

import java.nio.ByteBuffer;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.ReaderOutput;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SourceSplit;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.core.io.InputStatus;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.core.memory.MemorySegmentFactory;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.types.RowKind;

final class EdgeSource implements Source<RowData, EdgeSource.Share, Integer> {

    /** The part of one reader, and where it stands in it. */
    record Share(int reader, int batch, int row) implements SourceSplit {
        @Override
        public String splitId() {
            return String.valueOf(reader);
        }
    }

    private static final int ROWS_PER_POLL = 64;
    private final int table;

    EdgeSource(int table) {
        this.table = table;
    }

    @Override
    public Boundedness getBoundedness() {
        return Boundedness.BOUNDED;
    }

    @Override
    public SourceReader<RowData, Share> createReader(SourceReaderContext context) {
        return new Reader(Run.current, table);
    }

    private static final class Reader implements SourceReader<RowData, Share> {
        private final Run run;
        private final Edges edges;
        private final BinaryRowData edge;
        private final CompletableFuture<Void> assigned = new CompletableFuture<>();
        private CompletableFuture<Void> available = assigned;
        private int reader;
        private int batch;
        private int row;
        private Edges.Part part;

        Reader(Run run, int table) {
            this.run = run;
            this.edges = run.table(table);
            this.edge = new BinaryRowData(edges.columns());
            int size = edge.getFixedLengthPartSize();
            edge.pointTo(MemorySegmentFactory.wrap(new byte[size]), 0, size);
        }

        @Override
        public InputStatus pollNext(ReaderOutput<RowData> output) {
            if (!available.isDone()) {
                return InputStatus.NOTHING_AVAILABLE;
            }
            for (int i = 0; i < ROWS_PER_POLL && row < part.rows(); i++, row++) {
                edge.setRowKind(part.deleted(row) ? RowKind.DELETE : RowKind.INSERT);
                fill();
                output.collect(edge);
            }
            return row < part.rows() ? InputStatus.MORE_AVAILABLE : endBatch(output);
        }

        private void fill() {
            for (int i = 0; i < edges.columns(); i++) {
                long value = part.value(row, i);
                if (value == Edges.NULL) {
                    edge.setNullAt(i);
                } else {
                    edge.setLong(i, value);
                }
            }
        }

        private InputStatus endBatch(ReaderOutput<RowData> output) {
            output.emitWatermark(new Watermark(batch));
            if (batch + 1 == run.batches) {
                return InputStatus.END_OF_INPUT;
            }
            available = run.done(batch);
            batch++;
            row = 0;
            part = edges.part(batch, reader);
            return available.isDone() ? InputStatus.MORE_AVAILABLE : InputStatus.NOTHING_AVAILABLE;
        }

        @Override
        public CompletableFuture<Void> isAvailable() {
            return available;
        }

        @Override
        public void addSplits(List<Share> shares) {
            Share share = shares.get(0);
            reader = share.reader;
            batch = share.batch;
            row = share.row;
            part = edges.part(batch, reader);
            assigned.complete(null);
        }

        @Override
        public List<Share> snapshotState(long checkpoint) {
            return assigned.isDone() ? List.of(new Share(reader, batch, row)) : List.of();
        }

        @Override
        public void start() {}

        @Override
        public void notifyNoMoreSplits() {}

        @Override
        public void close() {}
    }

    /** Gives every reader its own share. */
    @Override
    public SplitEnumerator<Share, Integer> createEnumerator(SplitEnumeratorContext<Share> context) {
        return new SplitEnumerator<>() {
            @Override
            public void addReader(int reader) {
                context.assignSplit(new Share(reader, 0, 0), reader);
                context.signalNoMoreSplits(reader);
            }

            @Override
            public Integer snapshotState(long checkpoint) {
                return 0;
            }

            @Override
            public void addSplitsBack(List<Share> shares, int reader) {
                throw new UnsupportedOperationException("a run does not restart");
            }

            @Override
            public void handleSplitRequest(int reader, String host) {}

            @Override
            public void start() {}

            @Override
            public void close() {}
        };
    }

    @Override
    public SplitEnumerator<Share, Integer> restoreEnumerator(SplitEnumeratorContext<Share> context, Integer state) {
        throw new UnsupportedOperationException("a run does not restart");
    }

    @Override
    public SimpleVersionedSerializer<Share> getSplitSerializer() {
        return new Ints<>(
                share -> new int[] {share.reader, share.batch, share.row}, at -> new Share(at[0], at[1], at[2]));
    }

    @Override
    public SimpleVersionedSerializer<Integer> getEnumeratorCheckpointSerializer() {
        return new Ints<>(state -> new int[] {state}, at -> at[0]);
    }

    /** Saves a value as a few numbers. */
    private record Ints<T>(java.util.function.Function<T, int[]> to, java.util.function.Function<int[], T> from)
            implements SimpleVersionedSerializer<T> {
        @Override
        public int getVersion() {
            return 1;
        }

        @Override
        public byte[] serialize(T value) {
            int[] numbers = to.apply(value);
            ByteBuffer buffer = ByteBuffer.allocate(4 * numbers.length);
            buffer.asIntBuffer().put(numbers);
            return buffer.array();
        }

        @Override
        public T deserialize(int version, byte[] bytes) {
            int[] numbers = new int[bytes.length / 4];
            ByteBuffer.wrap(bytes).asIntBuffer().get(numbers);
            return from.apply(numbers);
        }
    }
}
