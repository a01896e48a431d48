// A round of create, list, watch, patch and delete with the http2 module of Node.js, all on one connection.
import { readFileSync } from 'node:fs';
import { connect } from 'node:http2';

const [url, ca, token, namespace] = process.argv.slice(2);
const session = connect(url, { ca: readFileSync(ca) });
session.on('error', (error) => { throw error; });
const path = `/api/v1/namespaces/${namespace}/configmaps`;

function open(method, path, body, type = 'application/json') {
  const headers = { ':method': method, ':path': path, authorization: `Bearer ${token}`, 'content-type': type };
  const stream = session.request(headers);
  stream.setEncoding('utf8');
  stream.end(body && JSON.stringify(body));
  return stream;
}

async function call(...request) {
  let text = '';
  for await (const piece of open(...request)) text += piece;
  return JSON.parse(text);
}

const made = await call('POST', path, { metadata: { name: 'a' }, data: { k: '1' } });
const watch = open('GET', `${path}?watch=1&resourceVersion=${made.metadata.resourceVersion}`);
const listed = await call('GET', `${path}?fieldSelector=metadata.name=a`);
await call('PATCH', `${path}/a`, [{ op: 'replace', path: '/data/k', value: '2' }], 'application/json-patch+json');
await call('DELETE', `${path}/a`);

const events = [];
let rest = '';
for await (const piece of watch) {
  const lines = (rest + piece).split('\n');
  rest = lines.pop();
  for (const event of lines.map((line) => JSON.parse(line))) {
    if (event.object.metadata.name === 'a') events.push([event.type, event.object.data.k]);
  }
  if (events.at(-1)?.[0] === 'DELETED') break; // resets the stream
}
session.close();
console.log(JSON.stringify({ protocol: session.alpnProtocol, listed: listed.items.map((item) => item.metadata.name), events }));
