// Sends two spans and a log record, as an agent written in JavaScript does, and prints the trace's id and the results.
import { context, SpanStatusCode, trace } from "@opentelemetry/api";
import { OTLPLogExporter } from "@opentelemetry/exporter-logs-otlp-http";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { resourceFromAttributes } from "@opentelemetry/resources";
import { LoggerProvider, SimpleLogRecordProcessor } from "@opentelemetry/sdk-logs";
import { BasicTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";

const [endpoint, compression, token] = process.argv.slice(2);
const options = { compression, headers: token ? { authorization: `Bearer ${token}` } : {} };
const resource = resourceFromAttributes({ "service.name": "js-agent" });
const results = [];

function watched(exporter) {
  const send = exporter.export.bind(exporter);
  exporter.export = (items, done) => send(items, (result) => { results.push(result.code); done(result); });
  return exporter;
}

const tracers = new BasicTracerProvider({
  resource,
  spanProcessors: [
    new SimpleSpanProcessor(watched(new OTLPTraceExporter({ url: `${endpoint}/v1/traces`, ...options }))),
  ],
});
const loggers = new LoggerProvider({
  resource,
  processors: [
    new SimpleLogRecordProcessor({
      exporter: watched(new OTLPLogExporter({ url: `${endpoint}/v1/logs`, ...options })),
    }),
  ],
});

const tracer = tracers.getTracer("js", "1.2.3");
const root = tracer.startSpan("invoke_agent", { attributes: { "gen_ai.operation.name": "invoke_agent" } });
const within = trace.setSpan(context.active(), root);
const tool = tracer.startSpan(
  "execute_tool refund",
  {
    links: [{ context: root.spanContext() }],
    attributes: {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": "refund",
      text: "naïve 😀",
      int: 42,
      big: 2 ** 53 - 1,
      double: 0.1,
      whole: true,
      list: ["a", "b"],
      numbers: [1, 2],
    },
  },
  within,
);
tool.addEvent("seen", { at: 1 });
tool.setStatus({ code: SpanStatusCode.ERROR, message: "no" });
tool.end();
loggers.getLogger("js").emit({
  eventName: "gen_ai.client.inference.operation.details",
  body: { said: ["hi", 1, null] },
  attributes: { k: { nested: [true] } },
  context: within,
});
root.end();
await tracers.shutdown();
await loggers.shutdown();
console.log(JSON.stringify({ trace: root.spanContext().traceId, results }));
