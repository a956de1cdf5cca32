// The site of the documentation; build.ts gathers its pages.
import { readFileSync } from 'node:fs';

const groups = JSON.parse(readFileSync(new URL('../pages/groups.json', import.meta.url), 'utf8'));

export default {
  srcDir: 'pages',
  outDir: 'dist',
  title: 'Model gateway',
  description: 'A declarative LLM gateway: YAML in git, live within a second.',
  cleanUrls: true,
  // No picture beside the title: browsers ask for one otherwise.
  head: [['link', { rel: 'icon', href: 'data:,' }]],
  lastUpdated: false,
  markdown: {
    // The anchors that links of the pages name: those of GitHub.
    anchor: {
      slugify: (heading) =>
        heading
          .toLowerCase()
          .replaceAll(/[^\w\s-]/g, '')
          .replaceAll(' ', '-'),
    },
  },
  themeConfig: {
    search: { provider: 'local' },
    outline: [2, 3],
    nav: [
      { text: 'Quick start', link: '/quick-start' },
      { text: 'Comparison', link: '/comparison' },
      { text: 'Reference', link: '/reference' },
    ],
    sidebar: groups,
    docFooter: { prev: 'Before', next: 'Next' },
    footer: { message: 'MIT licence' },
  },
};
