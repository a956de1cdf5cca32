// Which addresses a provider may have, in every spelling that the system or a URL would understand.
import { test } from 'tap';
import { addressKind, hostKind } from '../../gitops/check/address-kind.ts';

const kinds = {
  forbidden:
    '0.0.0.0 0.1.2.3 169.254.169.254 169.254.170.2 100.100.100.200 168.63.129.16 192.0.0.192 224.0.0.1 240.0.0.1 255.255.255.255 ' +
    ':: fe80::1 fe80::1%eth0 febf::1 fd00:ec2::254 fd00:ec2::23 fd20:ce::254 fd00:c1::a9fe:a9fe fd00:42::42 2001:0:1::1 ff02::1 ' +
    '::ffff:169.254.169.254 ::ffff:a9fe:a9fe ::ffff:0.0.0.0 64:ff9b::a9fe:a9fe 2002:a9fe:a9fe::1 ::a9fe:a9fe',
  private:
    '10.0.0.1 10.255.255.255 172.16.0.1 172.31.255.255 192.168.0.1 100.64.0.1 100.127.255.255 198.18.0.1 198.19.255.255 ' +
    'fc00::1 fdff::1 fec0::1 64:ff9b:1::1 ::ffff:10.0.0.1 64:ff9b::a00:1 2002:c0a8:101::1 ::a00:1',
  open:
    '127.0.0.1 127.255.255.255 ::1 ::ffff:127.0.0.1 1.1.1.1 9.255.255.255 11.0.0.0 172.15.255.255 172.32.0.0 192.167.255.255 ' +
    '100.63.255.255 100.128.0.0 169.253.255.255 169.255.0.0 223.255.255.255 2606:4700::1111 2001:4860::8888 64:ff9b::101:101 fbff::1',
} as const;

await test('metadata, link-local and multicast addresses are forbidden, private ones known, the borders exact', (t) => {
  for (const [kind, addresses] of Object.entries(kinds)) {
    for (const address of addresses.split(' ')) t.equal(addressKind(address), kind, address);
  }
  for (const name of ['localhost', 'metadata.google.internal', '', '1.2.3', '0x7f.1'])
    t.equal(addressKind(name), undefined, name);
  t.end();
});

await test('the host of a URL is known however it is spelled', (t) => {
  const spelled = {
    forbidden:
      'http://2852039166 http://0xa9fea9fe http://0251.0376.0251.0376 http://169.254.43518 http://169.254.169.254. http://0 http://[::] ' +
      'http://[::ffff:169.254.169.254] http://[0:0:0:0:0:ffff:a9fe:a9fe]:80 http://１６９.254.169.254',
    private: 'http://167772161 http://0xa.1 http://012.0.0.1 http://[::ffff:10.0.0.1]',
    open: 'http://0x7f.1 http://2130706433 http://[::1]:8000 http://1.1.1.1.',
  };
  for (const [kind, urls] of Object.entries(spelled)) {
    for (const url of urls.split(' ')) t.equal(hostKind(new URL(url).hostname), kind, url);
  }
  t.equal(
    hostKind(new URL('http://metadata.google.internal').hostname),
    undefined,
    'a name is judged when it is dialled',
  );
  t.end();
});
