// The pages of the site: which files of the repository they are, where each lies on the site, and what becomes of their links.
import { posix } from 'node:path';

/** A page: its file in the repository, and its file on the site. */
export interface Page {
  readonly source: string;
  readonly target: string;
}

/** Files of the repository that are pages of the site. */
export const pagePatterns = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'docs/*.md',
  'docs/decisions/*.md',
  'deploy/*.md',
  'examples/*/README.md',
  'schemas/REFERENCE.md',
];

/** Files with places of their own; all others keep their path, in lower case and without `docs/`. */
const places: Readonly<Record<string, string>> = {
  'README.md': 'index.md',
  'SECURITY.md': 'report-a-vulnerability.md',
  'docs/README.md': 'all-pages.md',
};

/** Where the file of a page lies on the site. */
export function targetOf(source: string): string {
  const own = places[source];
  if (own !== undefined) return own;
  const path = source.replace(/^docs\//, '').replace(/^schemas\/REFERENCE/, 'reference');
  return path.replace(/\/README\.md$/, '/index.md').toLowerCase();
}

/** The page or picture that a link of a page leads to, as a path in the repository, and its anchor. */
function followed(link: string, from: Page): { path: string; anchor: string } {
  const [path = '', anchor = ''] = link.split('#');
  const full = path === '' ? from.source : posix.join(posix.dirname(from.source), path);
  return { path: full.replace(/\/$/, ''), anchor: anchor === '' ? '' : `#${anchor}` };
}

/**
 * The text of a page as the site has it. Links to pages lead to their places on the site; a folder with a README is the page of it. What is no page
 * is named instead of linked, because the site has no source code.
 */
export function forSite(text: string, page: Page, pages: ReadonlyMap<string, string>): string {
  const relative = (target: string): string => {
    const path = posix.relative(posix.dirname(page.target), target);
    return path.startsWith('.') ? path : `./${path}`;
  };
  const linked = text.replaceAll(
    /(!?)\[([^\]]*)\]\((?!https?:)([^)\s]+)\)/g,
    (_all, mark: string, label: string, link: string) => {
      const { path, anchor } = followed(link, page);
      const target = pages.get(path) ?? pages.get(`${path}/README.md`);
      if (target !== undefined) return `[${label}](${relative(target)}${anchor})`;
      if (mark === '!' || path.endsWith('.png')) return `${mark}[${label}](${relative(path.replace(/^docs\//, ''))})`;
      const isNamed = label.replaceAll('`', '') === posix.basename(path) || path.endsWith(label.replace(/\/$/, ''));
      return isNamed ? `\`${path}\`` : `${label} (\`${path}\`)`;
    },
  );
  const defined = linked.replaceAll(/^(\[[^\]]+\]: )(?!https?:)(\S+)$/gm, (all, label: string, link: string) => {
    const { path, anchor } = followed(link, page);
    const target = pages.get(path);
    return target === undefined ? all : `${label}${relative(target)}${anchor}`;
  });
  return escaped(defined);
}

/** Vue reads `<name>` and `{{ }}` of a text as its own: outside of code they are told apart. */
function escaped(text: string): string {
  return text
    .split(/(^```[\s\S]*?^```|`[^`\n]*`)/m)
    .map((part, index) =>
      index % 2 === 1 ? part : part.replaceAll(/<(?!!--)/g, '&lt;').replaceAll('{{', '&#123;&#123;'),
    )
    .join('');
}

/** A group of the list at the side. */
export interface Group {
  readonly text: string;
  readonly items: readonly { readonly text: string; readonly link: string }[];
}

/** The tables of docs/README.md as groups: the first word of the head is the name, each row a page. */
export function groupsOf(map: string, pages: ReadonlyMap<string, string>): Group[] {
  const from = { source: 'docs/README.md', target: '' };
  return map
    .split(/^\| (?=.*\n\| -)/m)
    .slice(1)
    .map((table) => {
      const [text = ''] = table.split('|').map((cell) => cell.trim());
      const rows = [...table.matchAll(/^\| \[([^\]]+)\]\(([^)]+)\)/gm)];
      const items = rows.flatMap(([, label = '', link = '']) => {
        const { path } = followed(link, from);
        const target = pages.get(path) ?? pages.get(`${path}/README.md`);
        return target === undefined ? [] : [{ text: label, link: `/${target.replace(/(index)?\.md$/, '')}` }];
      });
      return { text, items };
    });
}
