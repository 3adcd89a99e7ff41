// A folder of edges in memory, dealt to the parallel readers by edge: an edge's insertion and its deletion go through the same reader, in order.
package joinless.bench.flink;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;

final class Edges {

    /** The edges of one batch for one reader: src and dst in turn; of the rows the first `deletes` go, the others come. */
    static final class Part {
        private long[] ends = new long[64];
        private int rows;
        private int deletes;

        int rows() {
            return rows;
        }

        boolean deleted(int row) {
            return row < deletes;
        }

        long src(int row) {
            return ends[2 * row];
        }

        long dst(int row) {
            return ends[2 * row + 1];
        }

        private void add(boolean delete, long src, long dst) {
            if (delete && deletes < rows) {
                throw new IllegalArgumentException("a deletion after an insertion of the same batch");
            }
            if (2 * rows == ends.length) {
                ends = Arrays.copyOf(ends, 2 * ends.length);
            }
            ends[2 * rows] = src;
            ends[2 * rows + 1] = dst;
            rows++;
            deletes += delete ? 1 : 0;
        }
    }

    private final Part[][] parts; // by batch and reader

    private Edges(Part[][] parts) {
        this.parts = parts;
    }

    Part part(int batch, int reader) {
        return parts[batch][reader];
    }

    static Edges read(Path folder, int batches, int readers) throws IOException {
        List<Path> files;
        try (Stream<Path> listed = Files.list(folder)) {
            files = listed.filter(file -> file.toString().endsWith(".csv")).sorted().limit(batches).toList();
        }
        if (files.size() < batches) {
            throw new IOException(folder + " has " + files.size() + " batches of " + batches);
        }
        Part[][] parts = new Part[batches][readers];
        for (int batch = 0; batch < batches; batch++) {
            Arrays.setAll(parts[batch], reader -> new Part());
            readBatch(files.get(batch), parts[batch]);
        }
        return new Edges(parts);
    }

    private static void readBatch(Path file, Part[] parts) throws IOException {
        try (BufferedReader lines = Files.newBufferedReader(file)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                int comma = line.lastIndexOf(',');
                int before = line.lastIndexOf(',', comma - 1);
                long src = Long.parseLong(line, before + 1, comma, 10);
                long dst = Long.parseLong(line, comma + 1, line.length(), 10);
                int reader = Math.floorMod(Long.hashCode((src * 31 + dst) * 0x9E3779B97F4A7C15L), parts.length);
                parts[reader].add(line.startsWith("delete"), src, dst);
            }
        }
    }
}
