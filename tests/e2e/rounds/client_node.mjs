// A round of create, list, watch, patch and delete with the official JavaScript client.
import * as k8s from '@kubernetes/client-node';

const [kubeconfig, namespace] = process.argv.slice(2);
const config = new k8s.KubeConfig();
config.loadFromFile(kubeconfig);
const api = config.makeApiClient(k8s.CoreV1Api);

const made = await api.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'a' }, data: { k: '1' } } });
const listed = await api.listNamespacedConfigMap({ namespace });
const patch = [{ op: 'replace', path: '/data/k', value: '2' }];
await api.patchNamespacedConfigMap({ name: 'a', namespace, body: patch });
await api.deleteNamespacedConfigMap({ name: 'a', namespace });

const events = [];
await new Promise((resolve, reject) => {
  const path = `/api/v1/namespaces/${namespace}/configmaps`;
  const query = { resourceVersion: made.metadata.resourceVersion };
  let request;
  const onEvent = (type, object) => {
    events.push([type, object.data.k]);
    if (type === 'DELETED') resolve();
  };
  new k8s.Watch(config).watch(path, query, onEvent, (error) => (error ? reject(error) : resolve())).then((r) => (request = r));
});
console.log(JSON.stringify({ listed: listed.items.map((item) => item.metadata.name), events }));
process.exit(0);
