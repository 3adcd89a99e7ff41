// A folder of rows in memory, dealt to the parallel readers by row: a row's insertion and its deletion go through the same reader, in order.
package joinless.bench.flink;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

final class Edges {

    /** What a column holds that is NULL. */
    static final long NULL = Long.MIN_VALUE;

    /** The rows of one batch for one reader, one after the other; the first `deletes` of them are deleted, the others inserted. */
    static final class Part {
        private final int columns;
        private long[] values = new long[64];
        private int rows;
        private int deletes;

        Part(int columns) {
            this.columns = columns;
        }

        int rows() {
            return rows;
        }

        boolean deleted(int row) {
            return row < deletes;
        }

        long value(int row, int column) {
            return values[row * columns + column];
        }

        private void add(boolean delete, long[] row) {
            if (delete && deletes < rows) {
                throw new IllegalArgumentException("a deletion after an insertion of the same batch");
            }
            if ((rows + 1) * columns > values.length) {
                values = Arrays.copyOf(values, 2 * values.length);
            }
            System.arraycopy(row, 0, values, rows * columns, columns);
            rows++;
            deletes += delete ? 1 : 0;
        }
    }

    private final int columns;
    private final Part[][] parts; // by batch and reader

    private Edges(int columns, Part[][] parts) {
        this.columns = columns;
        this.parts = parts;
    }

    int columns() {
        return columns;
    }

    Part part(int batch, int reader) {
        return parts[batch][reader];
    }

    static Edges read(Path folder, int columns, int batches, int readers) throws IOException {
        List<Path> files;
        try (Stream<Path> listed = Files.list(folder)) {
            files = listed.filter(file -> file.toString().endsWith(".csv")).sorted().limit(batches).toList();
        }
        if (files.size() < batches) {
            throw new IOException(folder + " has " + files.size() + " batches of " + batches);
        }
        Part[][] parts = new Part[batches][readers];
        for (int batch = 0; batch < batches; batch++) {
            Arrays.setAll(parts[batch], reader -> new Part(columns));
            readBatch(files.get(batch), columns, parts[batch]);
        }
        return new Edges(columns, parts);
    }

    private static void readBatch(Path file, int columns, Part[] parts) throws IOException {
        try (BufferedReader lines = Files.newBufferedReader(file)) {
            long[] row = new long[columns];
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                String[] fields = line.split(",", -1);
                long hash = 0;
                for (int i = 0; i < columns; i++) {
                    String text = fields[fields.length - columns + i];
                    row[i] = text.isEmpty() ? NULL : Long.parseLong(text);
                    hash = hash * 31 + row[i];
                }
                int reader = Math.floorMod(Long.hashCode(hash * 0x9E3779B97F4A7C15L), parts.length);
                parts[reader].add(fields[0].equals("delete"), row);
            }
        }
    }
}
