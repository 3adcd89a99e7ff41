// The query of a job (see benchmarks/jobs.py) in Flink's SQL. Relations that read the same folder are one table under several aliases,
// so that Flink's planner reads it once. A grouped job brings its SQL along: as it is, and as an expert writes it, counted before it is joined.
package joinless.bench.flink;

import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;

record Query(JsonNode job, List<String> inputs) {

    static Query read(File job) throws IOException {
        JsonNode tree = new ObjectMapper().readTree(job);
        List<String> inputs = new ArrayList<>();
        tree.get("inputs").forEach(input -> inputs.add(input.asText()));
        return new Query(tree, inputs);
    }

    int number(String field) {
        return job.get(field).asInt();
    }

    boolean window() {
        return job.get("window").asBoolean();
    }

    boolean grouped() {
        return job.hasNonNull("query");
    }

    /** The names of a table's columns. */
    List<String> columns(int table) {
        if (!grouped()) {
            return List.of("src", "dst");
        }
        List<String> names = new ArrayList<>();
        JsonNode relation = job.get("query").get("relations").get(inputs.indexOf(tables().get(table)));
        relation.get("columns").forEach(name -> names.add(name.asText()));
        return names;
    }

    boolean path() {
        return job.get("shape").asText().equals("path");
    }

    /** The folders that are read; table i of the catalog is `t` + i. */
    List<String> tables() {
        return inputs.stream().distinct().toList();
    }

    /** INSERT INTO sink SELECT ... with the relations joined one after the other, in FROM order or from the filtered one on. */
    String sql(boolean filteredFirst) {
        if (grouped()) {
            return "INSERT INTO results " + job.get("sql").get(filteredFirst ? "planned" : "plain").asText();
        }
        List<Integer> order = order(filteredFirst);
        StringBuilder from = new StringBuilder(relation(order.get(0)));
        for (int i = 1; i < order.size(); i++) {
            int relation = order.get(i);
            // A path goes on at one of its two ends; a star always hangs on its first relation.
            int other = path() ? order.get(i - 1) : order.get(0);
            String condition = path()
                    ? "r%d.dst = r%d.src".formatted(Math.min(relation, other), Math.max(relation, other))
                    : "r%d.src = r%d.src".formatted(other, relation);
            from.append(" JOIN ").append(relation(relation)).append(" ON ").append(condition);
        }
        return "INSERT INTO results SELECT %s FROM %s WHERE r%d.dst > %d"
                .formatted(vertices(), from, inputs.size(), job.get("threshold").asLong());
    }

    private List<Integer> order(boolean filteredFirst) {
        int n = inputs.size();
        if (!filteredFirst) {
            return IntStream.rangeClosed(1, n).boxed().toList();
        }
        return path()
                ? IntStream.rangeClosed(1, n).mapToObj(i -> n + 1 - i).toList()
                : IntStream.rangeClosed(1, n).mapToObj(i -> i == 1 ? n : i - 1).toList();
    }

    private String relation(int i) {
        return "t%d AS r%d".formatted(tables().indexOf(inputs.get(i - 1)), i);
    }

    private String vertices() {
        return IntStream.range(0, number("columns"))
                .mapToObj(i -> i == 0 ? "r1.src" : "r%d.dst".formatted(i))
                .collect(Collectors.joining(", "));
    }
}
