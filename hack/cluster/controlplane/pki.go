// Copyright The Delegation Operator Authors.
// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"time"
)

const (
	caLifetime   = 10 * 365 * 24 * time.Hour
	leafLifetime = 365 * 24 * time.Hour
)

// Names of the files in pki/, less their .crt and .key endings.
const (
	clusterCA             = "ca"
	etcdCA                = "etcd-ca"
	apiserverServing      = "apiserver"
	apiserverEtcdClient   = "apiserver-etcd-client"
	etcdServing           = "etcd"
	adminClient           = "admin"
	controllerManager     = "controller-manager"
	serviceAccountSigning = "service-account"
)

// leaf describes one certificate that a CA signs.
type leaf struct {
	file         string
	ca           string
	commonName   string
	organization []string
	serving      bool
}

// etcd has a CA of its own, as with kubeadm: otherwise every client
// certificate of the cluster would open etcd, past RBAC.
var leaves = []leaf{
	{file: apiserverServing, ca: clusterCA, commonName: "kube-apiserver", serving: true},
	{file: adminClient, ca: clusterCA, commonName: "admin", organization: []string{"system:masters"}},
	{file: controllerManager, ca: clusterCA, commonName: "system:kube-controller-manager"},
	{file: etcdServing, ca: etcdCA, commonName: "etcd", serving: true},
	{file: apiserverEtcdClient, ca: etcdCA, commonName: "kube-apiserver"},
}

// ensurePKI keeps the CAs and the service account key, so that certificates
// and tokens handed out earlier stay valid, and issues everything else anew, so
// that nothing has to watch an expiry date.
func (o Options) ensurePKI() error {
	if err := os.MkdirAll(o.file("pki"), 0o700); err != nil {
		return err
	}
	if err := o.ensureKey(serviceAccountSigning); err != nil {
		return err
	}
	for _, name := range []string{clusterCA, etcdCA} {
		if err := o.ensureCA(name); err != nil {
			return fmt.Errorf("certificate authority %s: %w", name, err)
		}
	}
	for _, l := range leaves {
		if err := o.issue(l); err != nil {
			return fmt.Errorf("certificate %s: %w", l.file, err)
		}
	}
	return nil
}

func (o Options) ensureKey(name string) error {
	if _, err := os.Stat(o.pki(name + ".key")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	_, err := o.newKey(name)
	return err
}

func (o Options) newKey(name string) (*ecdsa.PrivateKey, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return key, writePEM(o.pki(name+".key"), "EC PRIVATE KEY", der)
}

func (o Options) ensureCA(name string) error {
	if _, err := os.Stat(o.pki(name + ".crt")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	key, err := o.newKey(name)
	if err != nil {
		return err
	}
	template := newTemplate("delegation-local-"+name, caLifetime)
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	return o.sign(name, template, template, key.Public(), key)
}

func (o Options) issue(l leaf) error {
	caCert, caKey, err := o.loadCA(l.ca)
	if err != nil {
		return err
	}
	key, err := o.newKey(l.file)
	if err != nil {
		return err
	}
	template := newTemplate(l.commonName, leafLifetime)
	template.Subject.Organization = l.organization
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if l.serving {
		template.ExtKeyUsage = append(template.ExtKeyUsage, x509.ExtKeyUsageServerAuth)
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
		template.DNSNames = []string{"localhost", "kubernetes.default.svc"}
	}
	return o.sign(l.file, template, caCert, key.Public(), caKey)
}

func (o Options) sign(name string, template, parent *x509.Certificate, public crypto.PublicKey, signer *ecdsa.PrivateKey) error {
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
	if err != nil {
		return err
	}
	return writePEM(o.pki(name+".crt"), "CERTIFICATE", der)
}

func (o Options) loadCA(name string) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	certDER, err := readPEM(o.pki(name + ".crt"))
	if err != nil {
		return nil, nil, err
	}
	keyDER, err := readPEM(o.pki(name + ".key"))
	if err != nil {
		return nil, nil, err
	}
	cert, err := x509.ParseCertificate(certDER)
	if err != nil {
		return nil, nil, err
	}
	key, err := x509.ParseECPrivateKey(keyDER)
	return cert, key, err
}

func newTemplate(commonName string, lifetime time.Duration) *x509.Certificate {
	now := time.Now()
	return &x509.Certificate{
		// Wall-clock nanoseconds are unique among the few certificates of one CA.
		SerialNumber: big.NewInt(now.UnixNano()),
		Subject:      pkix.Name{CommonName: commonName},
		NotBefore:    now.Add(-time.Minute),
		NotAfter:     now.Add(lifetime),
	}
}

func writePEM(path, kind string, der []byte) error {
	return writeFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func readPEM(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, fmt.Errorf("%s holds no PEM block", path)
	}
	return block.Bytes, nil
}

// writeFile replaces path in one step: a reader sees the old content or the
// new, and nobody but the owner sees either.
func writeFile(path string, data []byte) error {
	temporary := path + ".tmp"
	if err := os.WriteFile(temporary, data, 0o600); err != nil {
		return err
	}
	return os.Rename(temporary, path)
}
