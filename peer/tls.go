package peer

import (
	"crypto/ed25519"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"math/big"
	"time"
)

// tlsConfigs makes both sides' configuration from the job's secret. All nodes
// derive the same Ed25519 key, show a certificate that they signed with it, and
// accept no other key; certificate chains, names and dates play no part, so
// that a node whose clock is wrong still gets in.
func tlsConfigs(secret []byte) (server, client *tls.Config, err error) {
	seed, err := hkdf.Key(sha256.New, secret, nil, "scrfs tls ed25519", ed25519.SeedSize)
	if err != nil {
		return nil, nil, fmt.Errorf("derive key: %w", err)
	}
	key := ed25519.NewKeyFromSeed(seed)
	public := key.Public().(ed25519.PublicKey)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "scrfs"},
		NotBefore:    time.Unix(0, 0),
		NotAfter:     time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), // RFC 5280: no end
	}
	der, err := x509.CreateCertificate(nil, template, template, public, key)
	if err != nil {
		return nil, nil, fmt.Errorf("sign certificate: %w", err)
	}
	pinned := func(s tls.ConnectionState) error {
		if len(s.PeerCertificates) == 0 {
			return fmt.Errorf("no certificate: %w", ErrRefused)
		}
		k, ok := s.PeerCertificates[0].PublicKey.(ed25519.PublicKey)
		if !ok || !k.Equal(public) {
			return fmt.Errorf("certificate of another secret: %w", ErrRefused)
		}
		return nil
	}
	base := tls.Config{
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		MinVersion:   tls.VersionTLS13,
		// Called for every handshake, after the proof that the other side
		// holds the key of the certificate it showed.
		VerifyConnection:            pinned,
		SessionTicketsDisabled:      true,
		DynamicRecordSizingDisabled: true, // we send megabytes, not web pages
	}
	server, client = base.Clone(), base.Clone()
	server.NextProtos = []string{string(protoCalls), string(protoBulk)}
	server.ClientAuth = tls.RequireAnyClientCert
	client.InsecureSkipVerify = true // pinned replaces it
	return server, client, nil
}

var errALPN = errors.New("greeting and TLS disagree about the protocol")
