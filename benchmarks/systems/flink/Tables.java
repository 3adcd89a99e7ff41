// The tables of a query: t0, t1, ... read the rows of the current run, `results` counts what arrives and sums its row checks
// (benchmarks/jobs.py). Both ends handle Flink's internal rows. The catalog brings their factory along, so none has to be registered.
package joinless.bench.flink;

import java.util.Optional;
import java.util.Set;
import org.apache.flink.api.common.eventtime.Watermark;
import org.apache.flink.api.connector.sink2.Sink;
import org.apache.flink.api.connector.sink2.SinkWriter;
import org.apache.flink.api.connector.sink2.WriterInitContext;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.table.api.DataTypes;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.catalog.CatalogTable;
import org.apache.flink.table.catalog.GenericInMemoryCatalog;
import org.apache.flink.table.catalog.ObjectPath;
import org.apache.flink.table.connector.ChangelogMode;
import org.apache.flink.table.connector.sink.DynamicTableSink;
import org.apache.flink.table.connector.sink.SinkV2Provider;
import org.apache.flink.table.connector.source.DynamicTableSource;
import org.apache.flink.table.connector.source.ScanTableSource;
import org.apache.flink.table.connector.source.SourceProvider;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.factories.DynamicTableFactory;
import org.apache.flink.table.factories.DynamicTableSinkFactory;
import org.apache.flink.table.factories.DynamicTableSourceFactory;
import org.apache.flink.table.factories.Factory;
import org.apache.flink.types.RowKind;

final class Tables extends GenericInMemoryCatalog {

    private final ChangelogMode edges;

    Tables(Query query) throws Exception {
        super("bench", "bench");
        edges = query.window()
                ? ChangelogMode.newBuilder().addContainedKind(RowKind.INSERT).addContainedKind(RowKind.DELETE).build()
                : ChangelogMode.insertOnly();
        for (int i = 0; i < query.tables().size(); i++) {
            Schema.Builder table = Schema.newBuilder();
            for (String column : query.columns(i)) {
                boolean nullable = column.equals("replyof");
                table.column(column, nullable ? DataTypes.BIGINT() : DataTypes.BIGINT().notNull());
            }
            create("t" + i, table.build());
        }
        Schema.Builder result = Schema.newBuilder();
        for (int i = 1; i <= query.number("columns"); i++) {
            result.column("x" + i, DataTypes.BIGINT());
        }
        create("results", result.build());
    }

    private void create(String name, Schema schema) throws Exception {
        createTable(new ObjectPath("bench", name), CatalogTable.newBuilder().schema(schema).build(), false);
    }

    @Override
    public Optional<Factory> getFactory() {
        return Optional.of(new Ends(edges));
    }

    private record Ends(ChangelogMode edges) implements DynamicTableSourceFactory, DynamicTableSinkFactory {
        @Override
        public DynamicTableSource createDynamicTableSource(DynamicTableFactory.Context context) {
            String table = context.getObjectIdentifier().getObjectName();
            return new EdgeTable(Integer.parseInt(table.substring(1)), edges);
        }

        @Override
        public DynamicTableSink createDynamicTableSink(DynamicTableFactory.Context context) {
            return new ResultTable(context.getCatalogTable().getResolvedSchema().getColumnCount());
        }

        @Override
        public String factoryIdentifier() {
            return "bench";
        }

        @Override
        public Set<ConfigOption<?>> requiredOptions() {
            return Set.of();
        }

        @Override
        public Set<ConfigOption<?>> optionalOptions() {
            return Set.of();
        }
    }

    private record EdgeTable(int table, ChangelogMode mode) implements ScanTableSource {
        @Override
        public ChangelogMode getChangelogMode() {
            return mode;
        }

        @Override
        public ScanRuntimeProvider getScanRuntimeProvider(ScanContext context) {
            return SourceProvider.of(new EdgeSource(table));
        }

        @Override
        public DynamicTableSource copy() {
            return this;
        }

        @Override
        public String asSummaryString() {
            return "edges " + table;
        }
    }

    private record ResultTable(int columns) implements DynamicTableSink {
        @Override
        public ChangelogMode getChangelogMode(ChangelogMode requested) {
            return requested;
        }

        @Override
        public SinkRuntimeProvider getSinkRuntimeProvider(Context context) {
            return SinkV2Provider.of(new CountingSink(columns));
        }

        @Override
        public DynamicTableSink copy() {
            return this;
        }

        @Override
        public String asSummaryString() {
            return "counts";
        }
    }

    private record CountingSink(int columns) implements Sink<RowData> {
        @Override
        public SinkWriter<RowData> createWriter(WriterInitContext context) {
            return new CountingWriter(columns, Run.current, Run.current.newCounts());
        }
    }

    private record CountingWriter(int columns, Run run, Run.Counts counts) implements SinkWriter<RowData> {
        @Override
        public void write(RowData row, Context context) {
            switch (row.getRowKind()) {
                case INSERT, UPDATE_AFTER -> counts.inserted(check(row));
                case DELETE, UPDATE_BEFORE -> counts.deleted(check(row));
            }
        }

        private long check(RowData row) {
            long sum = (row.getLong(0) + 7) * (row.getLong(columns - 1) + 11);
            for (int i = 0; i < columns; i++) {
                sum += (2 * i + 3) * row.getLong(i);
            }
            return sum;
        }

        @Override
        public void writeWatermark(Watermark watermark) {
            run.arrived(watermark.getTimestamp());
        }

        @Override
        public void flush(boolean endOfInput) {}

        @Override
        public void close() {}
    }
}
