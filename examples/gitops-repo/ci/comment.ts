// Puts comment.md into the pull request or merge request of this run: as one comment, which the next run replaces. Node runs this file as it is.
//   GitHub: GITHUB_TOKEN with pull-requests: write, PULL_REQUEST (its number)
//   GitLab: GITLAB_TOKEN, a project access token with the scope api (the job token may not comment)
// A run without the right to comment, such as that of a fork, says so and ends well: its log has the text.
import { readFileSync } from 'node:fs';

const body = readFileSync('comment.md', 'utf8');
const marker = body.split('\n', 1)[0] ?? '';
const variable = (name: string): string => process.env[name] ?? '';

interface Place {
  /** Lists comments, and takes a new one. */
  readonly comments: string;
  /** One of them. */
  readonly comment: (id: number) => string;
  readonly replaceWith: 'PATCH' | 'PUT';
  readonly headers: Readonly<Record<string, string>>;
}

const github: Place = {
  comments: `${variable('GITHUB_API_URL')}/repos/${variable('GITHUB_REPOSITORY')}/issues/${variable('PULL_REQUEST')}/comments`,
  comment: (id) => `${variable('GITHUB_API_URL')}/repos/${variable('GITHUB_REPOSITORY')}/issues/comments/${id}`,
  replaceWith: 'PATCH',
  headers: { authorization: `Bearer ${variable('GITHUB_TOKEN')}` },
};
const notes = `${variable('CI_API_V4_URL')}/projects/${variable('CI_PROJECT_ID')}/merge_requests/${variable('CI_MERGE_REQUEST_IID')}/notes`;
const gitlab: Place = {
  comments: notes,
  comment: (id) => `${notes}/${id}`,
  replaceWith: 'PUT',
  headers: { 'private-token': variable('GITLAB_TOKEN') },
};

async function ask({ headers }: Place, url: string, method = 'GET'): Promise<unknown> {
  const sent = method === 'GET' ? {} : { body: JSON.stringify({ body }) };
  const answer = await fetch(url, { method, headers: { ...headers, 'content-type': 'application/json' }, ...sent });
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status}`);
  return answer.json();
}

interface Comment {
  readonly id: number;
  readonly body: string;
  readonly user?: { readonly type: string };
}

/** The comment of the run before. A person may write the same first line, so on GitHub only those of programs count. */
async function ownComment(place: Place): Promise<Comment | undefined> {
  for (let page = 1; ; page += 1) {
    const found = (await ask(place, `${place.comments}?per_page=100&page=${page}`)) as readonly Comment[];
    const own = found.find(({ body: text, user }) => text.startsWith(marker) && user?.type !== 'User');
    if (own !== undefined || found.length < 100) return own;
  }
}

const place = variable('GITLAB_CI') === '' ? github : gitlab;
try {
  const before = await ownComment(place);
  await (before === undefined
    ? ask(place, place.comments, 'POST')
    : ask(place, place.comment(before.id), place.replaceWith));
} catch (error) {
  process.stdout.write(`no comment: ${error instanceof Error ? error.message : String(error)}\n`);
}
